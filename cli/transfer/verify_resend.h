/* SPDX-License-Identifier: Apache-2.0 */
/* What gpufl verify --resend sends. */
#ifndef GPUFL_CLI_TRANSFER_VERIFY_RESEND_H
#define GPUFL_CLI_TRANSFER_VERIFY_RESEND_H

#include <stdbool.h>
#include <stddef.h>

#include <gpufl/upload.h>

#include "upload/journal/journal_records.h"

/** Sends what the backend lacks of the session \p id. Where all channels go by positions,
 * the backend says what it has and gets no line twice, whatever the journal says: \p
 * force. The others go by the journal: by force, their lines would be stored again. */
void verify_resend(const struct gpufl_upload_options *to, const char *id, bool force);

/** \return whether the journal of the directory \p root is for another backend than \p
 * before, which it sets: one that was sent something is taken for that of all. */
bool verify_resend_moved(const struct gpufl_upload_options *to, int root,
                         struct record_origin *before);

#endif

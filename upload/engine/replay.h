/* SPDX-License-Identifier: Apache-2.0 */
/* From the journal's records to what they say, when it is opened, and back, when it is
 * written anew. */
#ifndef GPUFL_UPLOAD_ENGINE_REPLAY_H
#define GPUFL_UPLOAD_ENGINE_REPLAY_H

#include "upload/core/registry.h"
#include "upload/journal/journal.h"

struct replay;

/** \return NULL without memory. */
struct replay *replay_open(struct root *root);
void replay_close(struct replay *replay);

/** Applies one record; \p arg is the replay. For journal_open. */
void replay_record(void *arg, const struct journal_record *record);

/** Appends all that is known of the root \p arg. For the journal, when it is rewritten.
 */
void replay_write_state(void *arg);

#endif

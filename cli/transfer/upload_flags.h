/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#ifndef GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H
#define GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H

#include <gpufl/upload.h>

#include "upload/http/transport_http.h"

/** Names what set \p field of gpufl_upload_options. */
typedef const char *upload_names(const char *field);

/** The names to use of \p options, which the flags have set: the flags, or the variables
 * that hold the same value. */
upload_names *upload_names_of(const struct gpufl_upload_options *options);

/** The backend of \p options, for verbs that ask it themselves; it borrows from them. */
struct transport_http_config
upload_flags_backend(const struct gpufl_upload_options *options);

/** Names the flags about \p backend that change nothing, for such a verb. */
void upload_flags_say_unused(const char *program,
                             const struct transport_http_config *backend);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line calls the options of an upload. */
#ifndef GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H
#define GPUFL_CLI_TRANSFER_UPLOAD_FLAGS_H

/** Names what set \p field of gpufl_upload_options. */
typedef const char *upload_names(const char *field);

/** The names to use when the flags have been read and \p backend_url has come out: the
 * flags, or GPUFL_BACKEND_URL where that gave the URL. */
upload_names *upload_names_of(const char *backend_url);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The options of gpufl_upload_logs(): defaults, environment, ranges, names. */
#ifndef GPUFL_UPLOAD_UPLOAD_OPTIONS_H
#define GPUFL_UPLOAD_UPLOAD_OPTIONS_H

#include <gpufl/upload.h>

/** Completes \p given (NULL = all defaults; a shorter struct's missing tail takes
 * defaults) from the environment. In \p out log_path,
 * backend_url, api_key, api_path, session_id and state_dir are not NULL. */
void upload_options_resolve(const struct gpufl_upload_options *given,
                            struct gpufl_upload_options *out);

/** \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why, which names options
 * as \p name does. */
GPUFL_MUST gpufl_status upload_options_check(const struct gpufl_upload_options *options,
                                             const char *(*name)(const char *field),
                                             char why[512]);

/** What messages call the option \p field: what \p name says, or the field (NULL). */
const char *upload_options_name(const char *(*name)(const char *field),
                                const char *field);

#endif

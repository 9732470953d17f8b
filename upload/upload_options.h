/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl_upload_logs()'s options: defaults, environment, ranges. */
#ifndef GPUFL_UPLOAD_UPLOAD_OPTIONS_H
#define GPUFL_UPLOAD_UPLOAD_OPTIONS_H

#include <gpufl/upload.h>

/** Joins \p given (NULL = defaults; a short struct's missing tail takes defaults) with
 * the environment. No string of \p out is NULL. */
void upload_options_resolve(const struct gpufl_upload_options *given,
                            struct gpufl_upload_options *out);

/** \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status upload_options_check(const struct gpufl_upload_options *options,
                                             char why[512]);

#endif

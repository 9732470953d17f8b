/* SPDX-License-Identifier: Apache-2.0 */
/* gpufl_upload_logs() for programs whose users know the options by other names. */
#ifndef GPUFL_UPLOAD_UPLOAD_LOGS_H
#define GPUFL_UPLOAD_UPLOAD_LOGS_H

#include "upload/upload_options.h"

/** As gpufl_upload_logs(); messages name options as \p name does. */
GPUFL_MUST gpufl_status upload_logs_named(const struct gpufl_upload_options *options,
                                          const char *(*name)(const char *field),
                                          struct gpufl_upload_result *result);

/** Whether an upload with these options could begin; asks nobody, and does not look at
 * the directory. \p result, a whole one, gets the message. */
GPUFL_MUST gpufl_status upload_logs_check(const struct gpufl_upload_options *options,
                                          const char *(*name)(const char *field),
                                          struct gpufl_upload_result *result);

#endif

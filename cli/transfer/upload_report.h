/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpufl upload` prints of an upload. */
#ifndef GPUFL_CLI_TRANSFER_UPLOAD_REPORT_H
#define GPUFL_CLI_TRANSFER_UPLOAD_REPORT_H

#include <gpufl/upload.h>

/** A bar on stderr, over the one before. */
void upload_report_progress(void *arg, const struct gpufl_upload_progress *progress);

/** One line: on stdout what was sent, on stderr what is wrong. */
void upload_report_line(gpufl_status status, const struct gpufl_upload_result *result);

/** One JSON object on stdout. */
void upload_report_json(gpufl_status status, const struct gpufl_upload_result *result);

#endif

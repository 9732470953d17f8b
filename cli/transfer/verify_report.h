/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpufl verify` prints. */
#ifndef GPUFL_CLI_TRANSFER_VERIFY_REPORT_H
#define GPUFL_CLI_TRANSFER_VERIFY_REPORT_H

#include "base/text.h"
#include "upload/verify/verify.h"

/** A session of which the comparison came to an end. */
struct verify_shown {
    const char *id;
    const char *path;
    const struct verify_session *session; /**< NULL = its directory cannot be read */
};

/** A line for the session, which can be read, and one for each channel that is not equal.
 */
void verify_report_lines(struct text *out, const struct verify_shown *shown);

/** The session as a JSON object. */
void verify_report_json(struct text *out, const struct verify_shown *shown);

#endif

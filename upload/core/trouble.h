/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in the way of uploading, as shown to people. */
#ifndef GPUFL_UPLOAD_CORE_TROUBLE_H
#define GPUFL_UPLOAD_CORE_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

/** All zero at first. */
struct trouble {
    char last[256];  /**< the last problem in one sentence, "" = none */
    char aside[256]; /**< what else of the program does not work, "" = nothing */
    int64_t since_s; /**< wall clock; 0 = the backend answers as it should */
    unsigned stamp;  /**< raised when something begins or ends to stand in the way */
};

/** Records the last problem, as one sentence. */
void trouble_say(struct trouble *trouble, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Records what of the program does not work although sessions are sent; "" = nothing. */
void trouble_tell(struct trouble *trouble, const char *what);

/** Records whether something stands in the way of all sessions. */
void trouble_set(struct trouble *trouble, const struct sys *sys, bool is_there);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a root's journal says, for people and scripts; reads only. */
#ifndef GPUFL_UPLOAD_REPORT_H
#define GPUFL_UPLOAD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "upload/base/sys.h"
#include "upload/facts.h"

/** One channel of one session. */
struct report_stream {
    struct fact_stream fact; /**< position, counters */
    bool offered;            /**< a batch was out when the journal was written */
};

struct report {
    struct report_stream *stream;
    size_t streams;
    struct fact_quarantine *quarantine;
    size_t quarantines;
    char (*done)[FACTS_PATH_MAX]; /**< paths of sessions that are complete */
    size_t dones;
    bool damaged;
};

/** Reads the journal of \p root_path (descriptor \p root_fd) from where an uploader with
 *  \p state_dir (NULL = default) keeps it.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND without a journal; GPUFL_ERR_FORMAT,
 * GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status report_read(const struct sys *sys, const char *state_dir,
                                    int root_fd, const char *root_path,
                                    struct report *out);

/** True when the session \p path is complete. */
bool report_is_done(const struct report *report, const char *path);

void report_fini(struct report *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent and its --check do first, and in the same way: examine all that can be
 * examined before anything is made, and open what makes nothing. */
#ifndef GPUFL_AGENT_START_H
#define GPUFL_AGENT_START_H

#include <stdbool.h>

#include <gpufl/status.h>

#include "agent/options/options.h"
#include "agent/token.h"
#include "upload/http/transport_http.h"
#include "upload/journal/state_dir.h"
#include "upload/source/java_cursor.h"

struct start {
    struct token token;
    struct transport transport;
    struct java_cursor *imported; /**< NULL without --cursor-file */
    char confined[512];           /**< how far the kernel confines the process */
};

struct start_mode {
    const struct log *log;
    bool have_inotify;
    enum state_use state; /**< STATE_MAKE: state directories are made once all is good */
};

/** Call it before the first thread: it confines the process.
 *  \return GPUFL_OK; GPUFL_BUSY if all is good but the address of --listen, which another
 *  process has; else an error. Then \p why says what is wrong, by the flag, variable or
 *  key that was used. start_close frees what was opened. */
GPUFL_MUST gpufl_status start_open(const struct options *options,
                                   const struct start_mode *mode, struct start *out,
                                   char why[512]);

void start_close(struct start *start);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The uploaders of a world, each an engine in a process of its own: an agent, which a
 * supervisor starts again, and an upload on demand; in some worlds two of either. */
#ifndef GPUFL_TESTS_SIM_UPLOADER_H
#define GPUFL_TESTS_SIM_UPLOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "tests/sim/agent_loop.h"
#include "tests/sim/network.h"
#include "upload/engine/engine.h"

#define UPLOADERS 4 /* at most: agents have even numbers */

struct uploader {
    bool agent; /**< else an upload on demand, which ends by itself */
    unsigned index;
    const char *root; /**< what it reads */
    uid_t uid;
    unsigned host;
    struct engine_config config;
    struct log log;
    struct engine *engine; /**< NULL = it does not run */
    struct agent_loop loop;
    bool confined; /**< by Landlock, as an agent that waits for its root */
    bool exits;    /**< when all is sent, as an agent with --exit-when-drained */
    bool exited;   /**< it did, with `status` */
    int status;
    struct network_end end;
    int pid;
    struct sync_job *sync; /**< under way */
    uint64_t sync_ms;      /**< that one takes */
    uint64_t sync_done_ms;
    uint64_t wake_ms;
    uint64_t restart_ms; /**< when the supervisor starts it; 0 = it does not */
    uint64_t until_ms;   /**< when an upload on demand gives up */
    unsigned turns;
    unsigned in_a_row; /**< turns without any time between them */
    unsigned fault_percent;
    struct text held;    /**< what it said of sessions that it holds */
    struct text refused; /**< … and of ranges that are in quarantine */
    uint64_t given_up;   /**< lines of closed sessions that it said it gave up */
};

void uploader_make(struct uploader *u, unsigned index);

/** Starts it, if it does not run. It may fail, as programs do. */
void uploader_start(struct uploader *u);
/** Ends it: \p clean as SIGTERM does, else by SIGKILL. */
void uploader_stop(struct uploader *u, bool clean);

/** \return of how many bytes of a session it said that they are in quarantine. Lines of
 * which only the backend knows that they were refused have \p line_bytes. */
uint64_t uploader_refused_bytes(const struct uploader *u, const char *session,
                                unsigned line_bytes);

void uploader_fini(struct uploader *u);

/** Does what is due now. */
void uploader_step(struct uploader *u);
/** \return when something is due next. */
uint64_t uploader_next_ms(const struct uploader *u);

#endif

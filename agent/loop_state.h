/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the main loop, shared by the files that open, run, report and close it. */
#ifndef GPUFL_AGENT_LOOP_STATE_H
#define GPUFL_AGENT_LOOP_STATE_H

#include "agent/listen.h"
#include "agent/log_sink.h"
#include "agent/notify.h"
#include "agent/options/options.h"
#include "agent/start.h"
#include "agent/sync_thread.h"
#include "agent/watch/watch.h"
#include "upload/core/path_table.h"
#include "upload/source/select.h"

/** Interval of scans when directories cannot be watched. */
#define LOOP_POLL_MS 1000u

struct loop {
    struct options *options;
    int argc; /**< for SIGHUP */
    char **argv;
    struct notify notify;
    struct log_sink sink;
    struct log log;
    struct start start;
    struct origin_identity backend; /**< of the transport */
    struct sync_thread *syncs;
    struct watch *watch;
    struct engine *engine;
    struct selection ignored;        /**< sessions that existed at startup */
    struct path_table ignored_known; /**< ids of those that a journal knew by then */
    char *missing; /**< folders that do not exist yet, comma-separated */
    char *served;  /**< folders of the engine, likewise */
    char *refused; /**< folders that appeared, could not be served, and were logged */
    char refused_why[512]; /**< why the last of them cannot be served now; "" = none */
    uint64_t missing_check_ms;
    struct token_grace key_grace;
    struct listener *listener; /**< NULL without --listen, or while listen_why says why */
    char listen_why[512];      /**< another process has the address; "" = no */
    uint64_t listen_at_ms;     /**< the next try */
    double start_time_s;
    uint64_t inotify_overflows;
    int signal_fd;
    bool running;
    bool draining;
    bool stop_now;
    bool rules_said;
    bool replaced; /**< it ends because a folder was replaced that it may not open */
    uint64_t drain_deadline_ms;
    uint64_t next_check_ms;
    unsigned drained_checks;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* An engine on a rig: a clock that the test owns, and a backend in memory with a window
 * registry, whose answers the test can override. Syncs are inline, files are real. */
#ifndef GPUFL_TESTS_RIG_H
#define GPUFL_TESTS_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/rig_positions.h"
#include "upload/engine/engine.h"

#define RIG_REQUESTS_MAX 4096

/** The registry decides. */
#define RIG_REGISTRY (-1)
/** The registry stores, but its answer is lost. */
#define RIG_LOST (-2)

/** One request as the rig's backend saw it. */
struct rig_request {
    enum transport_kind kind;
    char session[129];
    char channel[33];
    char id[37];
    char encoding[8];
    bool window_headers;
    uint32_t sequence;
    uint32_t crc32;
    uint64_t at_ms;
    int status; /**< as answered */
    size_t raw_len;
    unsigned lines;
    struct stream_place place; /**< that was asked for */
    char *raw;                 /**< decoded body */
    char *answer;              /**< of positions, or NULL */
};

/** A rig. */
struct rig {
    struct engine *engine;
    struct engine_config config;
    struct engine_channels channels;
    char *root;
    struct rig_request request[RIG_REQUESTS_MAX];
    unsigned requests;
    unsigned answered; /* replies that were taken */
    bool silent;       /* requests stay under way */
    unsigned loops;
    void *tag[RIG_REQUESTS_MAX];
    bool lost[RIG_REQUESTS_MAX];
    /** \return the status to answer with, 0 = no answer, or RIG_REGISTRY, RIG_LOST. */
    int (*answer)(struct rig *rig, const struct rig_request *request);
    struct rig_positions positions;
    const char *version_body; /* of info/version; "" = 404 */
    int version_status;       /* of the first version_times answers to that */
    unsigned version_times;
    const char *reply_body; /* for statuses that the test chose */
    const char *ok_body;    /* for a success that the test chose */
    uint64_t retry_after_ms;
    uint64_t took_ms;      /**< what each answer says it took, besides answer_ms */
    uint64_t answer_ms;    /**< that an answer takes; 0 = until the next turn */
    int mark;              /* the test's own */
    uint64_t sync_ms;      /**< that a sync takes */
    struct sync_job *sync; /**< under way */
    uint64_t sync_done_ms;
};

/** Makes root, backend and configuration; the engine is opened by rig_start. */
void rig_open(struct rig *rig);
void rig_start(struct rig *rig);
/** Closes the engine as a crash would: nothing more is sent. */
void rig_stop(struct rig *rig);
void rig_close(struct rig *rig);

/** Turns the engine, moving the clock as it asks, until \p ms have passed or it is
 * drained (with \p until_drained). */
void rig_run(struct rig *rig, uint64_t ms, bool until_drained);

/** The bytes of a file beneath the root, as a string (the caller's). */
char *rig_file(struct rig *rig, const char *path);

/** The rig's clock; also for other tests. */
uint64_t rig_now_ms(void);
void rig_advance_ms(uint64_t ms);
/** Steps the clock that people read. */
void rig_step_wall_s(int64_t s);

#endif

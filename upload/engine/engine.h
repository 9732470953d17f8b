/* SPDX-License-Identifier: Apache-2.0 */
/* The uploader as a state machine. It never sleeps, reads no real clock, and touches
 * neither a socket nor a disk sync: clock, random, file calls, syncs and transport come
 * in. One thread drives it: call engine_turn, wait as long as it says or until something
 * happens, call it again. */
#ifndef GPUFL_UPLOAD_ENGINE_ENGINE_H
#define GPUFL_UPLOAD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "base/sys.h"
#include "schema/layout.h"
#include "upload/http/transport.h"
#include "upload/journal/syncer.h"
#include "upload/source/java_cursor.h"
#include "upload/source/scan.h"

/** Returned by engine_turn: nothing to do until something happens. */
#define ENGINE_FOREVER   UINT64_MAX
#define ENGINE_ROOTS_MAX 64u

enum engine_compression {
    COMPRESS_AUTO, /**< zstd where the origin declares it, else gzip */
    COMPRESS_ZSTD,
    COMPRESS_GZIP,
    COMPRESS_NONE,
};

enum engine_delete {
    DELETE_NEVER,
    DELETE_WINDOWS, /**< payloads of v1.3 windows, as the existing agent does */
    DELETE_ALL,     /**< sealed files of live sessions too */
};

enum engine_identity {
    IDENTITY_AUTO, /**< window headers on batches where the origin declares live_windows
                    */
    IDENTITY_ON,
    IDENTITY_OFF,
};

/** Channels to follow. */
struct engine_channels {
    char name[SCAN_CHANNELS_MAX][LAYOUT_CHANNEL_MAX + 1];
    unsigned count;
};

struct engine_config {
    const struct sys *sys; /**< borrowed for the engine's life, as all pointers here */
    const struct log *log;
    struct syncer syncer;
    struct transport transport; /**< the caller closes it after engine_close */
    uint64_t flush_interval_ms; /**< at most, from the first unsent byte to its batch */
    /** How long the record of an answer may wait for the next sync: after a power loss
     * within it, what was stored is offered again under its old identity. */
    uint64_t settled_sync_ms;
    unsigned max_requests_per_second; /**< 0 = without limit */
    size_t max_batch_bytes;
    uint32_t max_batch_lines;
    enum engine_compression compression;
    enum engine_identity identity;
    int zstd_level;
    uint64_t
        orphan_timeout_ms; /**< 0 = a writer that cannot be probed is never given up */
    /** Between two listings of a root. What is watched, or over, is looked at every sixth
     * time only, in case an event was lost; a watched root that has not changed is listed
     * every sixth time. */
    uint64_t rescan_interval_ms;
    uint64_t journal_bytes; /**< written anew when larger, and four times its state */
    /** Which files go once the backend has acknowledged them as stored. */
    enum engine_delete delete_acked;
    bool skip_on_quota; /**< treat 402 as the JVM agent does: drop the range, counted */
    bool ack_only;      /**< send what is there; do not report sessions as complete */
    bool salvage;       /**< publish what crashed 1.3 writers left in `.tmp` */
    bool one_owner;     /**< only session directories of `owner` are read */
    uid_t owner;
    bool in_job;           /**< a writer may live in this very process: mind its locks */
    bool memory_state;     /**< no journal on disk: at least once */
    const char *state_dir; /**< NULL = chosen, see root.h */
    const struct java_cursor *imported; /**< where another agent stood; NULL = nowhere */
    const char *program;                /**< told to whoever finds the root busy */
    /** Tells whether a session is to be uploaded, asked once a session; NULL = all. */
    bool (*wanted)(void *arg, const char *session_id);
    void *wanted_arg;
    /** Told the id under which an asynchronous backend keeps a body; NULL = not wanted.
     */
    void (*spooled)(void *arg, const char *spool_id);
    void *spooled_arg;
    /** Start these sessions again from their first byte. */
    bool force;
};

/** Sane values for everything but the pointers. */
void engine_config_default(struct engine_config *config);

struct engine;
struct counters;

GPUFL_MUST gpufl_status engine_open(const struct engine_config *config,
                                    struct engine **out);

/** Takes over \p path: locks it, opens its journal. The next turns look at what is in it.
 *  \return GPUFL_OK; GPUFL_BUSY when another uploader holds it; GPUFL_ERR_NOT_FOUND,
 *  GPUFL_ERR_IO, GPUFL_ERR_FORMAT (journal of a newer version). \p why then holds one
 *  sentence. */
GPUFL_MUST gpufl_status engine_add_root(struct engine *engine, const char *path,
                                        const struct engine_channels *channels,
                                        char why[512]);

/** One step. \return ms until the next is needed at the latest. */
uint64_t engine_turn(struct engine *engine);

/** Hint: something changed in `<root>/<session path>` ("" = anywhere in the root). */
void engine_touch(struct engine *engine, unsigned root, const char *session_path);

/** Hint: \p file of that session grew, or several did ("" then), and nothing else
 * happened there. */
void engine_grew(struct engine *engine, unsigned root, const char *session_path,
                 const char *file);

/** Hint: the directory went, and nobody watches it any more, should it be there again. */
void engine_unwatched(struct engine *engine, unsigned root, const char *session_path);

/** Looks at everything anew at the next turn, as after a lost event. */
void engine_rescan(struct engine *engine);

/** For the end of a run: from now on nothing waits for a flush interval, and what waits
 * for a backoff is tried at once. */
void engine_flush(struct engine *engine);

/** Another flush interval and request budget, from now on. */
void engine_set_pace(struct engine *engine, uint64_t flush_interval_ms,
                     unsigned max_requests_per_second);

/** Forgets that the origin waits for a person: its cause may be mended. */
void engine_retry_now(struct engine *engine);

/** From now on nobody tells what changes, or not all of it: what is not over is looked at
 * every \p interval_ms. */
void engine_poll(struct engine *engine, uint64_t interval_ms);

/** Why nothing moves, if so. */
enum engine_hold {
    HOLD_NONE,
    HOLD_AUTH,    /**< 401 or 403 */
    HOLD_SERVER,  /**< another answer that a person must act on */
    HOLD_QUOTA,   /**< 402 on every session */
    HOLD_JOURNAL, /**< the journal cannot be written */
};

/** What was done so far, broken down. Borrowed; changes with each turn. */
const struct counters *engine_counters(const struct engine *engine);

/** Why the origin is not sent to, HOLD_NONE if it is. Cheap. */
enum engine_hold engine_holding(const struct engine *engine);

/** Figures since the engine began. Walks all sessions. */
struct engine_summary {
    unsigned sessions;
    unsigned sessions_done;    /**< complete at the backend */
    unsigned sessions_live;    /**< their writer is there or may be */
    unsigned sessions_blocked; /**< never complete: quarantine, refusal, loss, held */
    unsigned streams_pending;  /**< something of them is not settled */
    unsigned streams_stuck;    /**< failing alone, see failures_alone */
    uint64_t files_acked;      /**< files of which something was acknowledged */
    uint64_t batches_acked;
    uint64_t windows_acked;
    uint64_t lines_acked;
    uint64_t file_bytes_acked; /**< of files, windows as they lie on disk */
    uint64_t sent_bytes;       /**< bodies, as sent */
    uint64_t requests;
    uint64_t retries;
    uint64_t lines_rejected;     /**< the backend took the batch but not these */
    uint64_t ranges_quarantined; /**< in the journal, earlier runs included */
    uint64_t lines_refused_final;
    unsigned stuck_failures;      /**< of the stream that failed alone most often */
    unsigned streams_done_before; /**< of sessions that were complete when we began */
    unsigned failures_in_row;     /**< requests without any success, origin-wide */
    bool ever_answered;           /**< the origin has answered at least once */
    uint64_t state_write_errors;  /**< times that a journal broke, until it was mended */
    enum engine_hold hold;
    int hold_status;
    char last_problem[256]; /**< one sentence, "" = none */
};

void engine_summary(const struct engine *engine, struct engine_summary *out);

/** True when nothing is left to do: all wanted sessions settled, and reported complete
 *  where they are to be. */
bool engine_drained(const struct engine *engine);

/** Visits the directories whose watching is to change since the last call: each root
 * (session
 *  "") and each session once, and once more when it is done. */
void engine_visit_changed(struct engine *engine,
                          void (*visit)(void *arg, unsigned root, const char *root_path,
                                        const char *session_path, bool done),
                          void *arg);

/** Releases everything; the journal is synced first. */
void engine_close(struct engine *engine);

#endif

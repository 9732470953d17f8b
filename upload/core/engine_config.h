/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine is told when it is opened. */
#ifndef GPUFL_UPLOAD_CORE_ENGINE_CONFIG_H
#define GPUFL_UPLOAD_CORE_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/sys.h"
#include "schema/layout.h"
#include "upload/http/transport.h"
#include "upload/journal/syncer.h"
#include "upload/source/java_cursor.h"
#include "upload/source/scan.h"

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

/** When what is written now is sent: at the end of the flush interval, which is the same
 * for all sessions, so that one sync and one turn serve them together. */
uint64_t engine_config_next_flush(const struct engine_config *config, uint64_t now_ms);

#endif

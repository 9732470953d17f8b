/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of an engine. */
#ifndef GPUFL_UPLOAD_CORE_ENGINE_CONFIG_H
#define GPUFL_UPLOAD_CORE_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/sys.h"
#include "schema/layout.h"
#include "upload/http/origin_identity.h"
#include "upload/http/transport.h"
#include "upload/journal/syncer.h"
#include "upload/source/scan.h"

struct java_cursor;

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
    const struct sys
        *sys; /**< borrowed for the engine's lifetime, like all pointers here */
    const struct log *log;
    struct syncer syncer;
    /** Of the backend that the transport leads to; NULL = any is the same. */
    const struct origin_identity *backend;
    bool same_origin;             /**< another identity is still the same backend */
    const char *same_origin_name; /**< what messages call it */
    struct transport transport;   /**< the caller closes it after engine_close */
    uint64_t flush_interval_ms;   /**< at most, from the first unsent byte until its batch
                                     is sent */
    /** How long the record of an answer may wait for the next sync. After a power loss
     * within that time, what was stored is offered again under its old identity. */
    uint64_t settled_sync_ms;
    unsigned max_requests_per_second; /**< 0 = no limit */
    size_t max_batch_bytes;
    uint32_t max_batch_lines;
    enum engine_compression compression;
    enum engine_identity identity;
    int zstd_level;
    uint64_t orphan_timeout_ms; /**< 0 = never give up a writer that cannot be probed */
    /** Time between two listings of a root. Sessions that are watched or over are
     * inspected only every sixth time, in case an event was lost; a watched root that has
     * not changed is listed every sixth time. */
    uint64_t rescan_interval_ms;
    uint64_t directory_bytes; /**< that may be kept of all directories, see base/shares.h;
                                 0 = no limit */
    uint64_t quarantine_ranges; /**< likewise that may be in quarantine; 0 = no limit */
    uint64_t journal_bytes; /**< the journal is rewritten when it is larger than this and
                               than four times its state */
    /** Which files are deleted once the backend has acknowledged them as stored. */
    enum engine_delete delete_acked;
    bool skip_on_quota; /**< treat 402 as the JVM agent does: drop the range and count it
                         */
    bool ack_only;      /**< send what is there; do not report sessions as complete */
    bool salvage;       /**< publish what crashed 1.3 writers left in `.tmp` */
    bool one_owner;     /**< only session directories of `owner` are read */
    uid_t owner;
    bool in_job;       /**< a writer may live in this process: do not disturb its locks */
    bool once;         /**< a run on demand: nothing is waited for that comes later */
    bool service;      /**< run by root or a service manager */
    bool memory_state; /**< no journal on disk: delivery is at least once */
    const char *run_dir;        /**< see run_dir.h; NULL = nothing is published */
    const char *accounts_dir;   /**< its `subuid` and `passwd` tell whose ids are whose;
                                   NULL = each user id is an owner */
    const char *state_dir;      /**< NULL = chosen, see journal/state_dir.h */
    const char *state_dir_name; /**< what messages call it; NULL = nothing */
    const struct java_cursor *imported; /**< where another agent stood; NULL = nowhere */
    const char *program; /**< name shown to others that find the root busy */
    /** Decides whether a session is uploaded, called once per session; NULL = all are. */
    bool (*wanted)(void *arg, const char *session_id);
    void *wanted_arg;
    bool named; /**< a person named what is wanted, or a job its own: it counts as left
                   behind, whoever keeps it */
    /** Called with each group that a listing of its root names; may be NULL. */
    void (*group_listed)(void *arg, unsigned root, const char *root_path,
                         const char *group);
    void *group_listed_arg;
    /** Called with the id under which an asynchronous backend keeps a body; may be NULL.
     */
    void (*spooled)(void *arg, const char *spool_id);
    void *spooled_arg;
    /** Start these sessions again from their first byte. */
    bool force;
    /** What messages call that, for a program that had better send nothing than what the
     * uploader of another user sends or has sent; NULL = such uploaders are no concern.
     */
    const char *force_name;
};

/** Sets defaults for everything but the pointers. */
void engine_config_default(struct engine_config *config);

/** When what is written now is sent: at the end of the flush interval, which is the same
 * for all sessions, so that one sync and one turn serve them together. */
uint64_t engine_config_next_flush(const struct engine_config *config, uint64_t now_ms);

#endif

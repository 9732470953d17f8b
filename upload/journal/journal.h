/* SPDX-License-Identifier: Apache-2.0 */
/* The append-only journal: records of what was offered and what is settled, which survive
 * any crash. It is appended to in place, synced in groups and now and then rewritten. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "base/sys.h"
#include "upload/journal/journal_format.h"
#include "upload/journal/syncer.h"

/** An open journal; opaque. */
struct journal;

struct journal_config {
    const struct sys *sys;
    struct syncer syncer;
    const struct log *log;
    int dir; /**< directory of the file, borrowed until journal_close; -1 keeps the
                  journal in memory, where nothing survives the process */
    const char *name;         /**< file name in it; copied */
    const char *root;         /**< the watched root it belongs to; copied */
    uint64_t rewrite_bytes;   /**< a journal larger than this, and than four times its
                                   state, is rewritten */
    void (*state)(void *arg); /**< appends the whole state by journal_append */
    void *arg;                /**< for `state` */
};

/** Opens the journal and replays its records in order; a missing file is an empty one.
 * The caller then calls journal_rewrite before anything is appended. \return
 * GPUFL_OK; GPUFL_ERR_FORMAT when a newer version wrote it (nothing is touched);
 * GPUFL_ERR_IO; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status journal_open(const struct journal_config *config,
                                     journal_replay_fn replay, void *arg,
                                     struct journal **out);

/** True when records in the middle were damaged: some lines may be sent twice. */
bool journal_was_damaged(const struct journal *journal);

/** True when there was no journal before. */
bool journal_is_new(const struct journal *journal);

/** True when the one before was of a version that recorded no backend. */
bool journal_named_no_origin(const struct journal *journal);

/** Writes the whole state to a new file and waits until it is on disk: temporary file,
 * sync, rename, sync of the directory. \return GPUFL_OK or GPUFL_ERR_IO; after a failure
 * the journal is broken. */
GPUFL_MUST gpufl_status journal_rewrite(struct journal *journal);

/** Starts to rewrite a broken journal; journal_pump continues it. Until the new file is
 * on disk nothing becomes durable. Does nothing while a sync is under way. */
void journal_mend(struct journal *journal);

/** Appends a record. \return its ticket, or 0: then the journal is broken. */
uint64_t journal_append(struct journal *journal, uint32_t type, const void *payload,
                        size_t len);

/** The same for a record that nobody waits for: it reaches the disk with the next record
 * that is waited for, or after journal_want. */
uint64_t journal_append_lazily(struct journal *journal, uint32_t type,
                               const void *payload, size_t len);

/** The same for a record that changes nothing that others see: it causes no sync, and is
 * not counted by journal_last. */
uint64_t journal_append_quietly(struct journal *journal, uint32_t type,
                                const void *payload, size_t len);

/** Asks for all that was appended to reach the disk. */
void journal_want(struct journal *journal);

/** True when there are records that no sync is under way or planned for. */
bool journal_is_lazy(const struct journal *journal);

/** Notices a finished sync. Never waits for a disk. */
void journal_collect(struct journal *journal);

/** Notices a finished sync and starts what comes next: a sync of the records that are
 * waited for, or a rewrite when most of the file is history. Never waits for a disk
 * unless the syncer does. Call it after all appends of a turn, so that one sync serves
 * them all.
 */
void journal_pump(struct journal *journal);

/** The ticket up to which every record is on disk. */
uint64_t journal_durable(const struct journal *journal);

/** The last ticket given out, but for quiet records. */
uint64_t journal_last(const struct journal *journal);

/** True after a failed write or sync: nothing new may be sent. journal_mend heals it. */
bool journal_broken(const struct journal *journal);

/** How often it became broken. */
uint64_t journal_breaks(const struct journal *journal);

/** Closes it; waits for syncs under way. NULL is fine. */
void journal_close(struct journal *journal);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The append-only journal: what was offered and what is settled, surviving any crash.
 *
 * File: a header (magic, version, generation, root), then records, each behind a 24-byte
 * frame (magic, payload length, number, CRC-32C, type), padded to 8 bytes; zeros to the
 * end are free space. Numbers rise by one. All integers are little-endian. A crash leaves
 * at most a torn tail, which is cut; damage further up is stepped over by looking for the
 * next frame, and reported. docs/architecture.md lists the record types. */
#ifndef GPUFL_UPLOAD_JOURNAL_JOURNAL_H
#define GPUFL_UPLOAD_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/log.h"
#include "base/sys.h"
#include "upload/journal/syncer.h"

#define JOURNAL_FORMAT_VERSION 1u
#define JOURNAL_MAX_PAYLOAD    4096u

/** An open journal; opaque. */
struct journal;

struct journal_config {
    const struct sys *sys;
    struct syncer syncer;
    const struct log *log;
    int dir; /**< directory of the file; borrowed until journal_close; -1 keeps the
                  journal in memory: nothing survives the process */
    const char *name;         /**< file name in it; copied */
    const char *root;         /**< the watched root it belongs to; copied */
    uint64_t rewrite_bytes;   /**< a journal larger than this, and than four times its
                                   state, is written anew */
    void (*state)(void *arg); /**< appends the whole state by journal_append */
    void *arg;                /**< for `state` */
};

/** One record as replayed. */
struct journal_record {
    uint32_t type;
    const unsigned char *payload; /**< valid during the callback */
    size_t len;
};

typedef void (*journal_replay_fn)(void *arg, const struct journal_record *record);

/** Opens the journal and replays its records in order; a missing file is an empty one.
 * The caller then calls journal_rewrite before anything is appended. \return
 * GPUFL_OK; GPUFL_ERR_FORMAT for a newer format version or another root's journal
 * (nothing is touched); GPUFL_ERR_IO; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status journal_open(const struct journal_config *config,
                                     journal_replay_fn replay, void *arg,
                                     struct journal **out);

/** True when records in the middle were damaged: this once, repeats are possible. */
bool journal_was_damaged(const struct journal *journal);

/** True when there was no journal before. */
bool journal_is_new(const struct journal *journal);

/** Writes the whole state anew and waits until that is on disk: temporary file, sync,
 * rename, sync of the directory. \return GPUFL_OK or GPUFL_ERR_IO; after a failure the
 * journal is broken. */
GPUFL_MUST gpufl_status journal_rewrite(struct journal *journal);

/** Begins to write a broken journal anew; journal_pump goes on with it. Until that is on
 * disk, nothing new becomes durable. Does nothing while a sync is under way. */
void journal_mend(struct journal *journal);

/** Appends a record. \return its ticket, or 0: then the journal is broken. */
uint64_t journal_append(struct journal *journal, uint32_t type, const void *payload,
                        size_t len);

/** The same for one that nobody waits for: it goes to the disk with the next that is
 * waited for, or after journal_want. */
uint64_t journal_append_lazily(struct journal *journal, uint32_t type,
                               const void *payload, size_t len);

/** All that was appended is waited for. */
void journal_want(struct journal *journal);

/** True when there are records that are on no way to the disk. */
bool journal_is_lazy(const struct journal *journal);

/** Notices a finished sync. Never waits for a disk. */
void journal_collect(struct journal *journal);

/** Notices a finished sync and starts what comes next: the sync of records that wait, or
 * the journal written anew when most of it is history. Never waits for a disk unless the
 * syncer does. Call it when what a turn has to append is appended: one sync is for all.
 */
void journal_pump(struct journal *journal);

/** The ticket up to which everything is on disk. */
uint64_t journal_durable(const struct journal *journal);

/** The last ticket given out. */
uint64_t journal_last(const struct journal *journal);

/** True after a failed write or sync: nothing new may be sent. journal_mend heals it. */
bool journal_broken(const struct journal *journal);

/** How often it could not be written any more, each time until it was mended. */
uint64_t journal_breaks(const struct journal *journal);

/** Closes it; waits for syncs under way. NULL is fine. */
void journal_close(struct journal *journal);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's file: appended in place, synced in groups, rewritten whole now and then.
 */
#include "upload/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "upload/journal/journal_file.h"
#include "upload/journal/journal_format.h"

#define MAX_FILE_BYTES (1u << 30)

/* What the sync under way is for. */
enum sync_step {
    SYNC_NONE,
    SYNC_RECORDS,   /* of the journal as it stands */
    SYNC_NEW_FILE,  /* of the one that is to take its place */
    SYNC_DIRECTORY, /* after it took the place */
};

struct journal {
    struct journal_config config;
    char *name;
    char *root;
    struct journal_file file;
    struct journal_file old; /* still the valid one while the new one is being synced */
    uint32_t generation;
    uint64_t after_rewrite;
    uint64_t last; /* last number given out */
    uint64_t durable;
    uint64_t wanted;  /* somebody waits until this one is durable */
    uint64_t syncing; /* what the sync under way makes durable */
    enum sync_step step;
    struct sync_job job;
    uint64_t breaks; /* how often it did */
    bool broken;
    bool mending; /* it was broken and is being written anew */
    bool damaged;
    bool is_new;
};

/* Damage above the tail: the bad file is kept for a person to look at. */
static void keep_aside(struct journal *j, const char *data, size_t len)
{
    char name[300];
    snprintf(name, sizeof name, "%s.corrupt-%llu", j->name,
             (unsigned long long)j->config.sys->now_ms());
    gpufl_status status =
        file_replace(j->config.sys, j->config.dir, name, data, len, false);
    log_error(j->config.log, "journal.damaged",
              "root=%s kept=%s status=\"%s\" note=\"some lines may be sent twice\"",
              j->root, name, gpufl_status_text(status));
}

static gpufl_status load(struct journal *j, journal_replay_fn replay, void *arg)
{
    char *data;
    size_t len;
    size_t end;
    gpufl_status status =
        file_read(j->config.sys, j->config.dir, j->name, MAX_FILE_BYTES, &data, &len);
    if (status == GPUFL_ERR_NOT_FOUND) {
        j->is_new = true;
        return GPUFL_OK;
    }
    if (status != GPUFL_OK) {
        return status;
    }
    const unsigned char *bytes = (const unsigned char *)data;
    status = journal_parse(bytes, len, replay, arg, &end, &j->last, &j->damaged);
    if (status == GPUFL_OK) {
        struct bytes b = {.at = (unsigned char *)data + 12, .left = 8};
        j->generation = (uint32_t)bytes_get_uint(&b, 4);
        size_t root_len = (size_t)bytes_get_uint(&b, 4);
        if (root_len != strlen(j->root) ||
            memcmp(data + JOURNAL_HEADER_BYTES, j->root, root_len) != 0) {
            /* The directory was moved: its journal moved along and stays right. */
            log_info(j->config.log, "journal.moved", "root=%s was=%.*s", j->root,
                     (int)root_len, data + JOURNAL_HEADER_BYTES);
        }
    } else if (len >= 12 && memcmp(data, JOURNAL_FILE_MAGIC, 8) == 0 && data[8] > 1) {
        log_error(j->config.log, "journal.newer",
                  "root=%s note=\"written by a newer gpufl; upgrade this one\"", j->root);
    } else {
        j->damaged = true;
        status = GPUFL_OK;
    }
    if (j->damaged) {
        keep_aside(j, data, len);
    }
    free(data);
    return status;
}

/* ---- writing ---------------------------------------------------------------------- */

static void break_it(struct journal *j, const char *what, int error)
{
    if (!j->broken && !j->mending) {
        j->breaks++;
        log_error(j->config.log, "journal.broken",
                  "root=%s op=%s reason=\"%s\" note=\"nothing is sent until it can be "
                  "written again\"",
                  j->root, what, strerror(error));
    }
    j->broken = true;
}

uint64_t journal_append_lazily(struct journal *j, uint32_t type, const void *payload,
                               size_t len)
{
    unsigned char record[JOURNAL_RECORD_MAX];
    if (j->broken || len > JOURNAL_MAX_PAYLOAD) {
        return 0;
    }
    size_t record_len = journal_put_record(record, j->last + 1, type, payload, len);
    if (journal_file_append(j->config.sys, &j->file, record, record_len) < 0) {
        break_it(j, "write", errno);
        return 0;
    }
    if (j->step == SYNC_NEW_FILE &&
        journal_file_append(j->config.sys, &j->old, record, record_len) < 0) {
        journal_file_close(
            &j->old); /* a process that dies now has not settled what it settles */
    }
    if (j->file.fd < 0) {
        j->durable = j->last + 1;
    }
    return ++j->last;
}

uint64_t journal_append(struct journal *j, uint32_t type, const void *payload, size_t len)
{
    uint64_t ticket = journal_append_lazily(j, type, payload, len);
    if (ticket) {
        j->wanted = ticket;
    }
    return ticket;
}

void journal_want(struct journal *j)
{
    j->wanted = j->last;
}

bool journal_is_lazy(const struct journal *j)
{
    return j->step == SYNC_NONE && j->durable < j->last && j->durable >= j->wanted;
}

/* ---- syncing and writing anew ------------------------------------------------------ */

static void name_of_new(const struct journal *j, char name[300])
{
    snprintf(name, 300, "%s.new", j->name);
}

static void start_sync(struct journal *j, enum sync_step step, int fd)
{
    j->step = step;
    j->job.fd = fd;
    j->job.whole = step != SYNC_RECORDS;
    j->job.error = 0;
    atomic_store_explicit(&j->job.finished, false, memory_order_relaxed);
    j->config.syncer.start(j->config.syncer.self, &j->job);
}

/* The old file stays the journal; the next try begins anew. */
static void abandon_new(struct journal *j, const char *what, int error)
{
    break_it(j, what, error);
    journal_file_close(&j->file);
    j->file = j->old;
    j->old.fd = -1;
}

/* The new file is on disk whole: it takes the place of the old one. */
static void put_in_place(struct journal *j)
{
    char temp[300];
    name_of_new(j, temp);
    if (j->broken) {
        abandon_new(j, "write", 0); /* a record did not fit in; said when that was */
    } else if (j->config.sys->renameat(j->config.dir, temp, j->config.dir, j->name) < 0) {
        abandon_new(j, "rename", errno);
    } else {
        journal_file_close(&j->old);
        start_sync(j, SYNC_DIRECTORY, j->config.dir);
    }
}

static void say_mended(struct journal *j)
{
    if (j->mending && !j->broken) {
        log_info(j->config.log, "journal.mended", "root=%s", j->root);
        j->mending = false;
    }
}

/* The sync under way, if it is over. \return false when there is none or it is not. */
static bool take_sync(struct journal *j)
{
    enum sync_step step = j->step;
    if (step == SYNC_NONE ||
        !atomic_load_explicit(&j->job.finished, memory_order_acquire)) {
        return false;
    }
    j->step = SYNC_NONE;
    if (j->job.error && step == SYNC_NEW_FILE) {
        abandon_new(j, "sync", j->job.error);
    } else if (j->job.error) {
        break_it(j, "sync", j->job.error);
    } else if (step == SYNC_NEW_FILE) {
        put_in_place(j);
    } else {
        j->durable = j->syncing;
    }
    if (step == SYNC_DIRECTORY) {
        say_mended(j);
    }
    return true;
}

/* From here on records go into the new file and, as the old one is what a process that
 * starts now would read, into that one too. */
static void begin_rewrite(struct journal *j)
{
    char temp[300];
    unsigned char start[JOURNAL_START_MAX];
    name_of_new(j, temp);
    j->mending = j->mending || j->broken;
    j->broken = false;
    if (j->mending) {
        journal_file_close(
            &j->file); /* records behind a hole would be read as if there was none */
    }
    j->old = j->file;
    j->file = (struct journal_file){.fd = -1};
    j->generation++;
    if (j->config.dir < 0) {
        j->config.state(j->config.arg);
        j->durable = j->last;
        say_mended(j);
        return;
    }
    j->file.fd = j->config.sys->open_beneath(j->config.dir, temp,
                                             O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t len = journal_put_start(start, j->generation, j->root);
    if (j->file.fd < 0 || journal_file_append(j->config.sys, &j->file, start, len) < 0) {
        abandon_new(j, "open", errno);
        return;
    }
    j->config.state(j->config.arg);
    if (j->broken) {
        abandon_new(j, "write", 0);
        return;
    }
    j->after_rewrite = j->file.at;
    j->syncing = j->last;
    start_sync(j, SYNC_NEW_FILE, j->file.fd);
}

static bool mostly_history(const struct journal *j)
{
    return j->file.at > j->config.rewrite_bytes && j->file.at > 4 * j->after_rewrite;
}

void journal_collect(struct journal *j)
{
    while (take_sync(j)) {
    }
}

void journal_pump(struct journal *j)
{
    do {
        journal_collect(j);
        if (j->step != SYNC_NONE || j->broken || j->file.fd < 0) {
            return;
        }
        if (mostly_history(j)) {
            begin_rewrite(j);
        } else if (j->durable < j->wanted) {
            j->syncing = j->last;
            start_sync(j, SYNC_RECORDS, j->file.fd);
        }
    } while (j->step != SYNC_NONE &&
             atomic_load_explicit(&j->job.finished, memory_order_acquire));
}

void journal_mend(struct journal *j)
{
    if (j->broken && j->step == SYNC_NONE) {
        begin_rewrite(j);
        journal_pump(j);
    }
}

static void wait_for_syncs(struct journal *j)
{
    while (j->step != SYNC_NONE) {
        j->config.syncer.finish(j->config.syncer.self, &j->job);
        take_sync(j);
    }
}

gpufl_status journal_rewrite(struct journal *j)
{
    wait_for_syncs(j);
    j->broken = false; /* as every journal is before its first one: nothing to mend */
    begin_rewrite(j);
    wait_for_syncs(j);
    return j->broken ? GPUFL_ERR_IO : GPUFL_OK;
}

/* ---- life -------------------------------------------------------------------------- */

gpufl_status journal_open(const struct journal_config *config, journal_replay_fn replay,
                          void *arg, struct journal **out)
{
    *out = NULL;
    struct journal *j = calloc(1, sizeof *j);
    if (!j) {
        return GPUFL_ERR_NOMEM;
    }
    j->file.fd = j->old.fd = -1;
    j->config = *config;
    j->name = strdup(config->name);
    j->root = strdup(config->root);
    gpufl_status status = GPUFL_OK;
    if (!j->name || !j->root) {
        status = GPUFL_ERR_NOMEM;
    } else if (config->dir >= 0) {
        status = load(j, replay, arg);
    } else {
        j->is_new = true;
    }
    if (status != GPUFL_OK) {
        journal_close(j);
        return status;
    }
    j->broken = true; /* until the first rewrite */
    *out = j;
    return GPUFL_OK;
}

void journal_close(struct journal *j)
{
    if (!j) {
        return;
    }
    wait_for_syncs(j);
    journal_file_close(&j->file);
    journal_file_close(&j->old);
    free(j->name);
    free(j->root);
    free(j);
}

bool journal_was_damaged(const struct journal *j)
{
    return j->damaged;
}

bool journal_is_new(const struct journal *j)
{
    return j->is_new;
}

uint64_t journal_durable(const struct journal *j)
{
    return j->durable;
}

uint64_t journal_last(const struct journal *j)
{
    return j->last;
}

uint64_t journal_breaks(const struct journal *j)
{
    return j->breaks;
}

bool journal_broken(const struct journal *j)
{
    return j->broken;
}

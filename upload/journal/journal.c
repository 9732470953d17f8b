/* SPDX-License-Identifier: Apache-2.0 */
/* Appends records, syncs them in groups and rewrites the file when most of it is old. */
#include "upload/journal/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "upload/journal/journal_file.h"
#include "upload/journal/journal_load.h"

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
    uint64_t start;         /* bytes of the headers */
    uint64_t after_rewrite; /* bytes of the records when it was last written anew */
    uint64_t last;          /* last number given out */
    uint64_t loud;          /* of the last record that was not appended quietly */
    uint64_t durable;
    uint64_t wanted;  /* somebody waits until this one is durable */
    uint64_t syncing; /* what the sync under way makes durable */
    enum sync_step step;
    struct sync_job job;
    uint64_t breaks; /* how often it broke */
    bool broken;
    bool mending; /* it was broken and is being written anew */
    struct journal_loaded loaded;
};

static void journal_break(struct journal *j, const char *what, int error)
{
    if (!j->broken && !j->mending) {
        j->breaks++;
        log_error(j->config.log, "journal.broken",
                  "root=%s op=%s reason=\"%s\" note=\"nothing is sent until it can be "
                  "written again\"",
                  j->root, what, strerror(error));
    }
    j->broken = true;
    errno = error;
}

uint64_t journal_append_quietly(struct journal *j, uint32_t type, const void *payload,
                                size_t len)
{
    unsigned char record[JOURNAL_RECORD_MAX];
    if (j->broken || len > JOURNAL_MAX_PAYLOAD) {
        return 0;
    }
    size_t record_len =
        journal_format_put_record(record, j->last + 1, type, payload, len);
    if (journal_file_append(j->config.sys, &j->file, record, record_len) < 0) {
        journal_break(j, "write", errno);
        return 0;
    }
    if (j->step == SYNC_NEW_FILE &&
        journal_file_append(j->config.sys, &j->old, record, record_len) < 0) {
        /* A process that starts now repeats what this record settles. */
        journal_file_close(&j->old);
    }
    if (j->file.fd < 0) {
        j->durable = j->last + 1;
    }
    return ++j->last;
}

uint64_t journal_append_lazily(struct journal *j, uint32_t type, const void *payload,
                               size_t len)
{
    uint64_t ticket = journal_append_quietly(j, type, payload, len);
    j->loud = ticket ? ticket : j->loud;
    return ticket;
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
    return j->step == SYNC_NONE && j->durable < j->loud && j->durable >= j->wanted;
}

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

/* The old file stays the journal; the next attempt starts from scratch. */
static void abandon_new(struct journal *j, const char *what, int error)
{
    journal_break(j, what, error);
    journal_file_close(&j->file);
    j->file = j->old;
    j->old.fd = -1;
}

/* The new file is on disk as a whole and replaces the old one. */
static void replace_old(struct journal *j)
{
    char temp[300];
    name_of_new(j, temp);
    if (j->broken) {
        abandon_new(j, "write", 0); /* a record did not fit in: logged at that time */
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

/* Takes the result of the sync under way. \return false while there is none. */
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
        journal_break(j, "sync", j->job.error);
    } else if (step == SYNC_NEW_FILE) {
        replace_old(j);
    } else {
        j->durable = j->syncing;
    }
    if (step == SYNC_DIRECTORY) {
        say_mended(j);
    }
    return true;
}

/* From here on records go into the new file and into the old one too, which is what a
 * process that starts now would read. */
static void begin_rewrite(struct journal *j)
{
    char temp[300];
    unsigned char start[JOURNAL_START_MAX];
    name_of_new(j, temp);
    j->mending = j->mending || j->broken;
    j->broken = false;
    if (j->mending) {
        /* Records behind a hole would be read as if there was none. */
        journal_file_close(&j->file);
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
    j->file.fd = file_create(j->config.sys, j->config.dir, temp, 0600);
    size_t len = journal_format_put_start(start, j->generation, j->root);
    if (j->file.fd < 0 || journal_file_append(j->config.sys, &j->file, start, len) < 0) {
        abandon_new(j, "open", errno);
        return;
    }
    j->config.state(j->config.arg);
    if (j->broken) {
        abandon_new(j, "write", 0);
        return;
    }
    j->start = len;
    j->after_rewrite = j->file.at - len;
    j->syncing = j->last;
    start_sync(j, SYNC_NEW_FILE, j->file.fd);
}

static bool mostly_history(const struct journal *j)
{
    uint64_t records = j->file.at - j->start;
    return records > j->config.rewrite_bytes && records > 4 * j->after_rewrite;
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
        struct journal_place place = {.sys = config->sys,
                                      .log = config->log,
                                      .dir = config->dir,
                                      .name = j->name,
                                      .root = j->root};
        status = journal_load(&place, replay, arg, &j->loaded);
    } else {
        j->loaded.is_new = true;
    }
    if (status != GPUFL_OK) {
        journal_close(j);
        return status;
    }
    j->generation = j->loaded.generation;
    j->last = j->loaded.last;
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
    return j->loaded.damaged;
}

bool journal_is_new(const struct journal *j)
{
    return j->loaded.is_new;
}

bool journal_named_no_origin(const struct journal *j)
{
    return j->loaded.names_no_origin;
}

uint64_t journal_durable(const struct journal *j)
{
    return j->durable;
}

uint64_t journal_last(const struct journal *j)
{
    return j->loud;
}

uint64_t journal_breaks(const struct journal *j)
{
    return j->breaks;
}

bool journal_broken(const struct journal *j)
{
    return j->broken;
}

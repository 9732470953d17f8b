/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's file: appended in place, synced in groups, rewritten whole now and then.
 */
#include "upload/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "upload/base/bytes.h"
#include "upload/base/crc32c.h"
#include "upload/base/file.h"
#include "upload/journal_format.h"

#define GROW_BYTES        (256u << 10)
#define MAX_FILE_BYTES    (1u << 30)
#define REWRITE_MIN_BYTES (512u << 10)

struct journal {
    struct journal_config config;
    char *name;
    char *root;
    int fd;
    uint32_t generation;
    uint64_t at;       /* where the next record goes */
    uint64_t reserved; /* bytes allocated */
    uint64_t after_rewrite;
    uint64_t last; /* last number given out */
    uint64_t durable;
    uint64_t syncing; /* what the sync under way will make durable; 0 = none */
    struct sync_job job;
    bool broken;
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

static int reserve_space(struct journal *j, size_t more)
{
    if (j->at + more <= j->reserved) {
        return 0;
    }
    /* Space is taken ahead, so that a sync writes no metadata and a full disk is met
     * here. A file system without fallocate just grows. */
    uint64_t want = j->at + more + GROW_BYTES;
    int rc = posix_fallocate(j->fd, 0, (off_t)want);
    if (rc != 0 && rc != EOPNOTSUPP && rc != EINVAL) {
        errno = rc;
        return -1;
    }
    j->reserved = want;
    return 0;
}

static int write_at_end(struct journal *j, const void *data, size_t len)
{
    if (j->fd < 0) {
        return 0; /* in memory */
    }
    if (reserve_space(j, len) < 0 ||
        file_pwrite_all(j->config.sys, j->fd, data, len, (off_t)j->at) < 0) {
        return -1;
    }
    j->at += len;
    return 0;
}

static void break_it(struct journal *j, const char *what, int error)
{
    if (!j->broken) {
        log_error(j->config.log, "journal.broken",
                  "root=%s op=%s reason=\"%s\" note=\"nothing is sent until it can be "
                  "written again\"",
                  j->root, what, strerror(error));
    }
    j->broken = true;
}

uint64_t journal_append(struct journal *j, uint32_t type, const void *payload, size_t len)
{
    unsigned char record[JOURNAL_FRAME_BYTES + JOURNAL_MAX_PAYLOAD] = {0};
    if (j->broken || len > JOURNAL_MAX_PAYLOAD) {
        return 0;
    }
    struct journal_frame f = {.len = (uint32_t)len, .type = type, .number = j->last + 1};
    struct bytes b = {.at = record, .left = JOURNAL_FRAME_BYTES};
    bytes_put_uint(&b, JOURNAL_FRAME_MAGIC, 4);
    bytes_put_uint(&b, f.len, 4);
    bytes_put_uint(&b, f.number, 8);
    bytes_put_uint(&b, journal_frame_crc(&f, payload), 4);
    bytes_put_uint(&b, type, 4);
    memcpy(record + JOURNAL_FRAME_BYTES, payload, len);
    if (write_at_end(j, record, JOURNAL_FRAME_BYTES + journal_padded(len)) < 0) {
        break_it(j, "write", errno);
        return 0;
    }
    if (j->fd < 0) {
        j->durable = j->last + 1;
    }
    return ++j->last;
}

static int write_header(struct journal *j)
{
    unsigned char header[JOURNAL_HEADER_BYTES + JOURNAL_ROOT_MAX + 8] = {0};
    size_t root_len = strlen(j->root);
    struct bytes b = {.at = header, .left = sizeof header};
    bytes_put(&b, JOURNAL_FILE_MAGIC, 8);
    bytes_put_uint(&b, JOURNAL_FORMAT_VERSION, 4);
    bytes_put_uint(&b, j->generation, 4);
    bytes_put_uint(&b, root_len, 4);
    uint32_t crc = crc32c(crc32c(0, header, JOURNAL_HEADER_BYTES - 4), j->root, root_len);
    bytes_put_uint(&b, crc, 4);
    bytes_put(&b, j->root, root_len);
    return b.bad
               ? -1
               : write_at_end(j, header, JOURNAL_HEADER_BYTES + journal_padded(root_len));
}

static void wait_for_sync(struct journal *j)
{
    if (j->syncing) {
        j->config.syncer.finish(j->config.syncer.self, &j->job);
    }
    j->syncing = 0;
}

gpufl_status journal_rewrite(struct journal *j, void (*state)(void *arg), void *arg)
{
    const struct sys *sys = j->config.sys;
    char temp[300];
    snprintf(temp, sizeof temp, "%s.new", j->name);
    wait_for_sync(j);
    if (j->fd >= 0) {
        close(j->fd);
        j->fd = -1;
    }
    j->broken = false;
    j->at = j->reserved = 0;
    j->generation++;
    if (j->config.dir < 0) {
        state(arg);
        j->durable = j->last;
        return GPUFL_OK;
    }
    j->fd = sys->open_beneath(j->config.dir, temp, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (j->fd < 0 || write_header(j) < 0) {
        break_it(j, "open", errno);
        return GPUFL_ERR_IO;
    }
    state(arg);
    if (j->broken || sys->fsync(j->fd) < 0 ||
        sys->renameat(j->config.dir, temp, j->config.dir, j->name) < 0 ||
        sys->fsync(j->config.dir) < 0) {
        break_it(j, "rewrite", errno);
        return GPUFL_ERR_IO;
    }
    j->durable = j->last;
    j->after_rewrite = j->at;
    return GPUFL_OK;
}

void journal_pump(struct journal *j)
{
    if (j->syncing && atomic_load_explicit(&j->job.finished, memory_order_acquire)) {
        if (j->job.error) {
            break_it(j, "sync", j->job.error);
        } else {
            j->durable = j->syncing;
        }
        j->syncing = 0;
    }
    if (!j->syncing && !j->broken && j->fd >= 0 && j->durable < j->last) {
        j->syncing = j->last;
        j->job.fd = j->fd;
        j->job.error = 0;
        atomic_store_explicit(&j->job.finished, false, memory_order_relaxed);
        j->config.syncer.start(j->config.syncer.self, &j->job);
        if (atomic_load_explicit(&j->job.finished, memory_order_acquire)) {
            journal_pump(j); /* finished at once; nothing waits any more */
        }
    }
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
    j->fd = -1;
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
    wait_for_sync(j);
    if (j->fd >= 0) {
        close(j->fd);
    }
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

bool journal_broken(const struct journal *j)
{
    return j->broken;
}

bool journal_wants_rewrite(const struct journal *j)
{
    return j->fd >= 0 && j->at > REWRITE_MIN_BYTES && j->at > 4 * j->after_rewrite;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads the progress files, and what their first lines tell. */
#include "upload/published/progress_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "schema/layout.h"
#include "upload/published/run_dir.h"
#include "upload/source/scan.h"

#define PROGRESS_MAX_BYTES (32u << 20) /* that are read at once */
#define PROGRESS_PART      (64u << 10) /* at a time, of what may be longer */
#define PROGRESS_TOP_BYTES (PROGRESS_STATE_MAX + 512)

/* What a service publishes counts where there is one: its files below the root cannot be
 * read by others. */
static int progress_open(const struct sys *sys, int root_fd, const char *path)
{
    return run_dir_is_served(root_fd) ? run_dir_open(sys, root_fd, strrchr(path, '/') + 1)
                                      : file_open_owned(sys, root_fd, path);
}

static gpufl_status progress_load(const struct sys *sys, int root_fd, char **text,
                                  size_t *len)
{
    return file_read_fd(sys, progress_open(sys, root_fd, LAYOUT_PROGRESS),
                        PROGRESS_MAX_BYTES, text, len);
}

/* The first line. What it does not tell is 0. */
struct progress_head {
    int pid;
    char program[41];
    uint64_t origin;
    uint64_t database;
    bool tells_state;
    uint64_t state_device;
    uint64_t state_inode;
};

static bool progress_parse_head(const char *text, struct progress_head *out)
{
    *out = (struct progress_head){0};
    int told = sscanf(text,
                      "gpufl-progress 1 pid=%d program=%40s origin=%16" SCNx64
                      " database=%16" SCNx64 " state=%16" SCNx64 "-%16" SCNx64,
                      &out->pid, out->program, &out->origin, &out->database,
                      &out->state_device, &out->state_inode);
    out->tells_state = told == 6;
    return told >= 2;
}

/* The beginning of the file, in which the first two lines end. \return false without a
 * file, or where it cannot be believed. */
static bool progress_load_top(const struct sys *sys, int root_fd,
                              char top[PROGRESS_TOP_BYTES])
{
    int fd = progress_open(sys, root_fd, LAYOUT_PROGRESS);
    ssize_t n = fd < 0 ? -1 : file_pread_full(sys, fd, top, PROGRESS_TOP_BYTES - 1, 0);
    if (fd >= 0) {
        close(fd);
    }
    top[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

static bool progress_load_head(const struct sys *sys, int root_fd,
                               struct progress_head *out)
{
    char top[PROGRESS_TOP_BYTES];
    return progress_load_top(sys, root_fd, top) && progress_parse_head(top, out);
}

bool progress_state_path(const struct sys *sys, int root_fd, char out[PROGRESS_STATE_MAX],
                         uid_t *owner)
{
    static const char word[] = "\n!state ";
    char top[PROGRESS_TOP_BYTES];
    struct progress_head head;
    struct stat st;
    if (!progress_load_top(sys, root_fd, top) || !progress_parse_head(top, &head)) {
        return false;
    }
    const char *line = strchr(top, '\n');
    if (!line || strncmp(line, word, sizeof word - 1) != 0) {
        return false;
    }
    line += sizeof word - 1;
    snprintf(out, PROGRESS_STATE_MAX, "%.*s", (int)strcspn(line, "\n"), line);
    if (*out != '/' || stat(out, &st) < 0 || st.st_ino != head.state_inode ||
        st.st_dev != head.state_device) {
        return false;
    }
    *owner = st.st_uid;
    return true;
}

static enum progress_match progress_match_head(const struct progress_head *head,
                                               const struct progress_origin *origin)
{
    bool named = head->database && origin->database;
    bool elsewhere = head->origin && head->origin != progress_origin_of(origin->url);
    return elsewhere || (named && head->database != origin->database) ? PROGRESS_ELSEWHERE
           : named && head->origin ? PROGRESS_SAME_DATABASE
                                   : PROGRESS_MAY_DIFFER;
}

/* Where the lines of a file go. */
struct progress_reader {
    const struct progress_origin *origin;
    struct progress_line next;
    void (*visit)(void *arg, const struct progress_line *line);
    void *arg;
};

/* Parses the whole lines in \p text. \return how many bytes they are; all, if it is full
 * and has none: no line is that long. */
static size_t progress_part(struct progress_reader *reader, const char *text, size_t len)
{
    const char *last = memrchr(text, '\n', len);
    size_t whole = last ? (size_t)(last - text) + 1 : len == PROGRESS_PART ? len : 0;
    progress_parse(text, whole, &reader->next, reader->visit, reader->arg);
    return whole;
}

/* \return false if it is about another backend, or no such file. */
static bool progress_counts(const char *text, const struct progress_origin *origin)
{
    struct progress_head head;
    return progress_parse_head(text, &head) &&
           !(origin && progress_match_head(&head, origin) == PROGRESS_ELSEWHERE);
}

/* \return GPUFL_ERR_NOT_FOUND if nothing in it counts. */
static gpufl_status progress_read_open(const struct sys *sys, int fd,
                                       struct progress_reader *reader)
{
    char *text = malloc(PROGRESS_PART + 1);
    size_t have = 0;
    off_t at = 0;
    ssize_t n;
    if (!text) {
        return GPUFL_ERR_NOMEM;
    }
    while ((n = file_pread_full(sys, fd, text + have, PROGRESS_PART - have, at)) > 0) {
        bool first = at == 0;
        have += (size_t)n;
        at += n;
        text[have] = '\0';
        if (first && !progress_counts(text, reader->origin)) {
            break;
        }
        size_t whole = progress_part(reader, text, have);
        have -= whole;
        memmove(text, text + whole, have);
    }
    free(text);
    return n < 0 ? GPUFL_ERR_IO : n > 0 || at == 0 ? GPUFL_ERR_NOT_FOUND : GPUFL_OK;
}

static const char *const progress_path[] = {
    [PROGRESS_OF_OPEN] = LAYOUT_PROGRESS, [PROGRESS_OF_COMPLETE] = LAYOUT_COMPLETE};

gpufl_status
progress_read_file(const struct sys *sys, int root_fd, enum progress_file file,
                   const struct progress_origin *origin,
                   void (*visit)(void *arg, const struct progress_line *line), void *arg)
{
    struct progress_reader reader = {
        origin, {.complete = file == PROGRESS_OF_COMPLETE}, visit, arg};
    int fd = progress_open(sys, root_fd, progress_path[file]);
    if (fd < 0) {
        return errno == ENOENT ? GPUFL_ERR_NOT_FOUND : GPUFL_ERR_IO;
    }
    gpufl_status status = progress_read_open(sys, fd, &reader);
    close(fd);
    return status;
}

struct progress_file_stamp progress_file_stamp(const struct sys *sys, int root_fd,
                                               enum progress_file file)
{
    struct progress_file_stamp stamp = {.inode = 0};
    struct stat st;
    int fd = progress_open(sys, root_fd, progress_path[file]);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        stamp = (struct progress_file_stamp){st.st_dev, st.st_ino, (uint64_t)st.st_size,
                                             (uint64_t)st.st_mtim.tv_sec * 1000000000u +
                                                 (uint64_t)st.st_mtim.tv_nsec};
    }
    if (fd >= 0) {
        close(fd);
    }
    return stamp;
}

gpufl_status progress_read(const struct sys *sys, int root_fd,
                           const struct progress_origin *origin,
                           void (*visit)(void *arg, const struct progress_line *line),
                           void *arg)
{
    gpufl_status open =
        progress_read_file(sys, root_fd, PROGRESS_OF_OPEN, origin, visit, arg);
    gpufl_status complete =
        progress_read_file(sys, root_fd, PROGRESS_OF_COMPLETE, origin, visit, arg);
    return complete == GPUFL_OK || complete == GPUFL_ERR_NOT_FOUND ? open : complete;
}

void progress_notes(const struct sys *sys, int root_fd,
                    void (*visit)(void *arg, const struct progress_note *note), void *arg)
{
    struct progress_note note = {0};
    char *text;
    char *rest;
    size_t len;
    if (progress_load(sys, root_fd, &text, &len) != GPUFL_OK) {
        return;
    }
    for (char *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == '!' && progress_parse_note(line, &note)) {
            visit(arg, &note);
        }
    }
    free(text);
}

bool progress_is_readable(const struct sys *sys, int root_fd)
{
    struct progress_head head;
    return progress_load_head(sys, root_fd, &head);
}

/* Its name is compared, as in another pid namespace another process has that pid. */
static bool progress_holder_is_stopped(const struct progress_head *head)
{
    char path[40];
    char stopped[48];
    char stat[256];
    snprintf(path, sizeof path, "/proc/%d/stat", head->pid);
    snprintf(stopped, sizeof stopped, "(%.15s) T", head->program);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
    if (fd >= 0) {
        close(fd);
    }
    stat[n > 0 ? n : 0] = '\0';
    return strstr(stat, stopped) != NULL;
}

bool progress_holder(const struct sys *sys, int root_fd, char *out, size_t size)
{
    struct progress_head head;
    snprintf(out, size, "another process");
    if (!progress_load_head(sys, root_fd, &head)) {
        return false;
    }
    snprintf(out, size, "%s (pid %d%s)", head.program, head.pid,
             progress_holder_is_stopped(&head) ? ", stopped by a signal" : "");
    return head.pid > 0 && (kill(head.pid, 0) == 0 || errno == EPERM);
}

uint64_t progress_origin_of(const char *url)
{
    return hash64_bytes(HASH64_BASIS, url, strlen(url));
}

enum progress_match progress_compare_origin(const struct sys *sys, int root_fd,
                                            const struct progress_origin *origin)
{
    struct progress_head head;
    return progress_load_head(sys, root_fd, &head) ? progress_match_head(&head, origin)
                                                   : PROGRESS_MAY_DIFFER;
}

uint64_t progress_database(const struct sys *sys, int root_fd, const char *url)
{
    const struct progress_origin origin = {url, 0};
    struct progress_head head;
    return progress_load_head(sys, root_fd, &head) &&
                   progress_match_head(&head, &origin) != PROGRESS_ELSEWHERE
               ? head.database
               : 0;
}

bool progress_writer_of(const struct sys *sys, int root_fd, struct progress_writer *out)
{
    struct progress_head head;
    bool told = progress_load_head(sys, root_fd, &head) && head.tells_state;
    *out = told ? (struct progress_writer){head.pid, head.state_device, head.state_inode}
                : (struct progress_writer){0};
    return told;
}

bool progress_tells_state(const struct sys *sys, int root_fd)
{
    struct progress_writer writer;
    return progress_writer_of(sys, root_fd, &writer);
}

bool progress_is_kept_in(const struct sys *sys, int root_fd, int state_fd)
{
    struct progress_head head;
    struct stat st;
    return progress_load_head(sys, root_fd, &head) && fstat(state_fd, &st) == 0 &&
           head.state_inode && head.state_inode == st.st_ino &&
           head.state_device == st.st_dev;
}

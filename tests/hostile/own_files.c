/* SPDX-License-Identifier: Apache-2.0 */
/* Knows of each file how many lines it has: more, fewer or others are somebody else's. */
#include "tests/hostile/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 3
#define SPREAD_LOWEST                                                                    \
    500 /* a library that stays out of the way has its own from here                     \
         */
#define SPREAD     16
#define LINE_BYTES 24

static struct own_file {
    char path[4096];
    ino_t inode;
    unsigned lines;
    int fd;
} file[FILES];
static bool spread;

static void line_of(char out[LINE_BYTES + 1], unsigned n, unsigned line)
{
    snprintf(out, LINE_BYTES + 1, "job: file %2u, line %5u", n % 100, line % 100000);
    out[LINE_BYTES - 1] = '\n';
    out[LINE_BYTES] = '\0';
}

/* Standard error may be closed, and messages go there. */
static int above_standard(int fd)
{
    int high = fd >= 0 && fd < 3 ? fcntl(fd, F_DUPFD, 3) : fd;
    if (high != fd) {
        close(fd);
    }
    return high;
}

void own_files_open(const char *folder, bool again)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct stat st;
        struct own_file *f = &file[i];
        snprintf(f->path, sizeof f->path, "%s/own-%u", folder, i);
        f->fd =
            open(f->path,
                 again ? O_RDWR | O_APPEND : O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0600);
        f->fd = above_standard(f->fd);
        if (f->fd < 0 || fstat(f->fd, &st) < 0) {
            dprintf(2, "job: cannot open %s\n", f->path);
            _exit(90);
        }
        f->inode = st.st_ino;
        f->lines = (unsigned)(st.st_size / LINE_BYTES);
    }
}

static int spread_at(unsigned n)
{
    return SPREAD_LOWEST + (int)(n % SPREAD);
}

void own_files_spread(void)
{
    for (unsigned i = 0; i < SPREAD; i++) {
        /* dup2(2): a number that another thread is just getting */
        while (dup2(file[i % FILES].fd, spread_at(i)) < 0 && errno == EBUSY) {
        }
    }
    spread = true;
}

void own_files_renumber(void)
{
    for (unsigned i = 0; i < FILES; i++) {
        int before = file[i].fd;
        file[i].fd = dup(before);
        close(before);
    }
}

bool own_files_have(int fd)
{
    for (unsigned i = 0; i < FILES; i++) {
        if (fd == file[i].fd) {
            return true;
        }
    }
    return spread && fd >= SPREAD_LOWEST && fd < SPREAD_LOWEST + SPREAD;
}

void own_files_append(unsigned n)
{
    char line[LINE_BYTES + 1];
    struct own_file *f = &file[n % FILES];
    unsigned copy = n % SPREAD;
    line_of(line, n % FILES, f->lines);
    int fd = spread && copy % FILES == n % FILES ? spread_at(copy) : f->fd;
    if (write(fd, line, LINE_BYTES) != LINE_BYTES) {
        dprintf(1, "job: cannot write to descriptor %d of file %u\n", fd, n % FILES);
    }
    f->lines++;
}

static bool is_of(int fd, const struct own_file *f)
{
    struct stat st;
    bool is = fstat(fd, &st) == 0 && st.st_ino == f->inode;
    if (!is) {
        dprintf(1, "job: descriptor %d is not of file %d\n", fd, (int)(f - file));
    }
    return is;
}

/* What else is in it says who has written it. */
static void show_foreign(const struct own_file *f, unsigned n, unsigned line)
{
    char bytes[161];
    const ssize_t has = pread(f->fd, bytes, sizeof bytes - 1, (off_t)line * LINE_BYTES);
    dprintf(1, "job: file %u has in place of line %u: %.*s\n", n, line,
            has > 0 ? (int)has : 0, bytes);
}

static bool has_its_lines(const struct own_file *f, unsigned n)
{
    char want[LINE_BYTES + 1];
    char got[LINE_BYTES];
    struct stat st;
    bool whole = fstat(f->fd, &st) == 0 && st.st_size == (off_t)f->lines * LINE_BYTES;
    if (!whole) {
        dprintf(1, "job: file %u has %ld bytes, not %u lines\n", n, (long)st.st_size,
                f->lines);
    }
    for (unsigned i = 0; i < f->lines || !whole; i++) {
        const ssize_t has = pread(f->fd, got, LINE_BYTES, (off_t)i * LINE_BYTES);
        line_of(want, n, i);
        if (i >= f->lines || has != LINE_BYTES || memcmp(want, got, LINE_BYTES) != 0) {
            show_foreign(f, n, i);
            return false;
        }
    }
    return whole;
}

bool own_files_are_whole(void)
{
    bool whole = true;
    for (unsigned i = 0; i < FILES; i++) {
        whole = whole && is_of(file[i].fd, &file[i]) && has_its_lines(&file[i], i);
    }
    for (unsigned i = 0; spread && i < SPREAD; i++) {
        whole = whole && is_of(spread_at(i), &file[i % FILES]);
    }
    return whole;
}

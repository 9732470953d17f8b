/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/locks, and keeps what it says of flock(2). */
#include "upload/source/lock_list.h"

#include <stdio.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "base/sys.h"

/* The kernel tells its locks a page at a time, by their numbers in a list: one is left
 * out if another one before it is released between two pages. */
#define LOCK_PASSES 3
/* A list that is longer is kept for so many times as long as it took to read. */
#define LOCK_LINES_SHORT 500u
#define LOCK_REST        20u

struct lock_seen {
    dev_t dev;
    ino_t ino;
    int pid;
};

struct lock_list lock_list_of_kernel = {.path = "/proc/locks",
                                        .lock = PTHREAD_MUTEX_INITIALIZER};

static bool lock_list_parse(const char *line, struct lock_seen *out)
{
    unsigned major;
    unsigned minor;
    unsigned long long inode;
    if (sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%llu", &out->pid, &major, &minor,
               &inode) != 4) {
        return false;
    }
    out->dev = makedev(major, minor);
    out->ino = (ino_t)inode;
    return true;
}

static void lock_list_add(struct lock_list *list, const struct lock_seen *seen)
{
    struct lock_seen *more =
        array_grown(list->seen, list->count, &list->cap, sizeof *more);
    if (more) { /* else it is as if the kernel did not tell */
        list->seen = more;
        more[list->count++] = *seen;
    }
}

static bool lock_list_is_long(const struct lock_list *list)
{
    return list->lines > LOCK_LINES_SHORT;
}

static void lock_list_read(struct lock_list *list, size_t lines_max)
{
    char line[256];
    struct lock_seen seen;
    uint64_t began_ms = sys_real.now_ms();
    FILE *locks = fopen(list->path, "re");
    list->count = list->lines = 0;
    list->lines_max = lines_max;
    while (locks && list->lines < lines_max && fgets(line, sizeof line, locks)) {
        list->lines++;
        if (lock_list_parse(line, &seen)) {
            lock_list_add(list, &seen);
        }
    }
    if (locks) {
        fclose(locks);
    }
    uint64_t now_ms = sys_real.now_ms();
    list->next_read_ms =
        lock_list_is_long(list) ? now_ms + LOCK_REST * (1 + now_ms - began_ms) : 0;
}

static bool lock_list_show(const struct lock_list *list, const struct stat *dir,
                           bool (*visit)(void *arg, int pid), void *arg)
{
    bool done = false;
    for (size_t i = 0; i < list->count && !done; i++) {
        const struct lock_seen *seen = &list->seen[i];
        done =
            seen->ino == dir->st_ino && seen->dev == dir->st_dev && visit(arg, seen->pid);
    }
    return done;
}

/* One that was cut says less than is asked for. */
static bool lock_list_rests(const struct lock_list *list, size_t lines_max)
{
    bool enough = list->lines < list->lines_max || lines_max <= list->lines_max;
    return enough && sys_real.now_ms() < list->next_read_ms;
}

bool lock_list_each(struct lock_list *list, const struct stat *dir, size_t lines_max,
                    bool (*visit)(void *arg, int pid), void *arg)
{
    pthread_mutex_lock(&list->lock);
    bool done = lock_list_rests(list, lines_max);
    if (done) {
        lock_list_show(list, dir, visit, arg);
    }
    for (int pass = 0; pass < LOCK_PASSES && !done; pass++) {
        lock_list_read(list, lines_max);
        done = lock_list_show(list, dir, visit, arg) || lock_list_is_long(list);
    }
    bool whole = list->lines < list->lines_max;
    pthread_mutex_unlock(&list->lock);
    return whole;
}

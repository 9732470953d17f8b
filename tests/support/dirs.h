/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary directories and session directories for tests. */
#ifndef GPUFL_TESTS_DIRS_H
#define GPUFL_TESTS_DIRS_H

#include <stdbool.h>
#include <stddef.h>

/** A fresh directory under $TMPDIR; the path is the caller's. */
char *dirs_make(void);

/** Removes it with all in it, and frees the path. */
void dirs_remove(char *path);

/** Appends \p text to `<dir>/<name>`, making the file. */
void dirs_append(const char *dir, const char *name, const char *text);

/** A session as libgpufl lays it out, written step by step. */
struct live_session {
    char dir[512];
    char id[40];
    int lock_fd;
};

/** Makes `<root>/<id>/` with manifest and lock; \p id is 36 characters. */
void live_open(struct live_session *s, const char *root, const char *id);

/** Replaces the manifest by one that lists \p channels, elements of a JSON array. */
void live_list(const struct live_session *s, const char *channels);

/** Appends one line to a channel: `{"type":"<type>","session_id":…,"n":<n>}`. A
 * channel begins with a job_start, whatever the type of its first line. */
void live_line(struct live_session *s, const char *channel, const char *type, int n);

/** Seals `<channel>.log` as number \p n. */
void live_rotate(struct live_session *s, const char *channel, unsigned n);

/** The writer tells in its lock file that \p channel's active file is \p number, and of
 * how many bytes. \p boot_id NULL = of this boot. */
void live_tell(const struct live_session *s, const char *boot_id, const char *channel,
               int number, long bytes);

/** What a writer tells of the first file of its channel device. */
struct live_told {
    long bytes;
    long before; /**< what it appends next */
    long inode;
    bool torn;   /**< a part of that is of an earlier line */
    bool copied; /**< the lock file is not the one that it wrote to */
};

/** The writer tells that. \p boot_id NULL = of this boot. */
void live_tell_file(const struct live_session *s, const char *boot_id,
                    const struct live_told *told);

/** Releases the lock: the writer is gone. */
void live_close(struct live_session *s);

#endif

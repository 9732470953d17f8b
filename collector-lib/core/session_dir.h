/* SPDX-License-Identifier: Apache-2.0 */
/* The session's directory: creates, locks and publishes it, and appends to its files. */
#ifndef GPUFL_COLLECTOR_CORE_SESSION_DIR_H
#define GPUFL_COLLECTOR_CORE_SESSION_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "collector-lib/core/channel_file.h"
#include "collector-lib/core/session_lock.h"
#include "schema/channels.h"

/** An open session. */
struct session_dir {
    char id[40];
    char path[PATH_MAX]; /* absolute; "" = not known */
    struct own_fd own;
    struct session_lock lock;
    uint64_t rotate_bytes;
    int64_t rotate_after_ns; /* 0 = by size alone */
    bool sync_each_write;
    bool sync_failure_said;
    bool with_sass;                 /* whether the session has the channel of sources */
    bool lost_lines[CHANNEL_COUNT]; /* a file was replaced by other content since the
                                       channel was opened or got all names */
    int64_t opened_ns;              /* monotonic */
    int64_t names_checked_ns;       /* likewise */
    struct channel_file file[CHANNEL_COUNT];
    struct session_parts parts[CHANNEL_COUNT];
    bool gone;      /* another program has removed the directory */
    bool appending; /* the lock file tells of the last append as of one to come */
};

/** Makes \p dir one that is not open, which session_dir_close leaves alone. */
void session_dir_init(struct session_dir *dir);

/** Creates `<log_path>/<id>/` with a random id. It is built as `.new-<random>/`, locked,
 * and then renamed, so that a reader sees it whole or not at all. A name that another
 * user takes meanwhile is left to them, for another id. \return GPUFL_OK or
 * GPUFL_ERR_IO with errno. */
gpufl_status session_dir_open(struct session_dir *dir, const char *log_path);

/** True if the session has that channel. */
bool session_dir_has(const struct session_dir *dir, enum channel channel);

/** Opens anew what the program has closed: the job may close descriptors that it did not
 * open. */
void session_dir_mend(struct session_dir *dir);

/** Appends whole lines with one write; rotates first if they would exceed rotate_bytes,
 * or what a file of the process may have.
 * \return how many bytes of whole lines are in the file: \p len, or less with errno. A
 * torn line is cut off. */
size_t session_dir_append(struct session_dir *dir, enum channel channel,
                          const char *lines, size_t len);

/** True if appending \p len bytes begins another file first. */
bool session_dir_rotates_for(const struct session_dir *dir, enum channel channel,
                             size_t len);

/** Seals each active file that is not empty and older than rotate_after_ns. */
void session_dir_rotate_old(struct session_dir *dir, int64_t mono_ns);

/** Gives an active file that somebody has removed, renamed, or replaced by a copy, its
 * name back, with all that was written. If a file of other content has the name, or the
 * file was cut, a loss marker and a message on stderr say so, and a new active file
 * begins. Tells in the lock file that what was appended is there. */
void session_dir_restore_names(struct session_dir *dir);

#define NAMES_EVERY_NS 1000000000ll

/** The same once a second, and as soon as a file was cut. */
void session_dir_restore_names_now_and_then(struct session_dir *dir, int64_t mono_ns);

/** \return what of the channel would be lost, if it were the end now, as far as the last
 * look at the names has told. */
struct session_amount session_dir_lost(const struct session_dir *dir,
                                       enum channel channel);

/** Removes a session that has just been opened, and closes it. */
void session_dir_discard(struct session_dir *dir);

/** Closes files and releases the lock. */
void session_dir_close(struct session_dir *dir);

#endif

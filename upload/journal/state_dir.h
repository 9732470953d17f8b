/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the directory in which the journal of a root lies. */
#ifndef GPUFL_UPLOAD_JOURNAL_STATE_DIR_H
#define GPUFL_UPLOAD_JOURNAL_STATE_DIR_H

#include <stdbool.h>

#include <gpufl/status.h>

/** Longest journal file name, NUL included. */
#define STATE_NAME_MAX 64
/** Its name in a directory below the root. */
#define STATE_NAME_INSIDE "journal"
/** How the name of the file ends that an uploader locks while it has the journal. */
#define STATE_JOURNAL_LOCK "journal.lock"

/** Longest path of a journal in a message. */
#define STATE_PATH_MAX 300

/** Longest reason why a directory takes no file. */
#define STATE_REASON_MAX 128

/** What a state directory is wanted for. */
enum state_use {
    STATE_READ, /**< by one who writes nothing */
    STATE_MAKE, /**< to write in; it is made */
    STATE_TRY,  /**< whether STATE_MAKE would work; nothing is made */
};

/** Where a journal is. */
struct state_place {
    int fd; /**< of the directory (STATE_TRY: or of one above), the caller's */
    char name[STATE_NAME_MAX];
    char path[STATE_PATH_MAX]; /**< of the journal, for messages */
};

/** Chooses and, with STATE_MAKE, makes the directory for the journal of \p root_path,
 * whose descriptor is \p root_fd. In this order: \p wanted if given; $STATE_DIRECTORY
 * (systemd); `<root>/.gpufl-agent` if it and the root are ours and nobody else can write
 * to them; $XDG_STATE_HOME/gpufl; ~/.local/state/gpufl; the latter in the home of our
 * account, if those before would be made in a directory of another user. \p place gets
 * the journal's file name, which holds a hash of the root where several roots share a
 * directory. A directory to which others can write is refused, to write in also one of
 * another user. \return GPUFL_OK; GPUFL_ERR_IO or GPUFL_ERR_NOT_FOUND with one sentence
 * in \p why, to which the caller puts what it calls \p wanted if that was given. */
GPUFL_MUST gpufl_status state_dir_open(const char *wanted, int root_fd,
                                       const char *root_path, enum state_use use,
                                       struct state_place *place, char why[512]);

/** Adds to what state_dir_open() says of a place that nobody named by which \p option one
 * can be named. */
void state_dir_way_out(const char *option, char why[512]);

/** Whether files can be created in the directory \p fd: some file systems, such as /proc,
 * let root write but take none. What may pass, as a full disk, is no reason.
 * \return GPUFL_OK; else GPUFL_ERR_IO with \p reason. */
GPUFL_MUST gpufl_status state_dir_takes_files(int fd, char reason[STATE_REASON_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Why a session or a channel is held until somebody acts: one row a reason, with what is
 * said and what a person can do. */
#ifndef GPUFL_UPLOAD_CORE_HELD_H
#define GPUFL_UPLOAD_CORE_HELD_H

#include <stdbool.h>
#include <stdint.h>

/** What ends a hold, other than that the cause goes away. */
enum held_exit {
    HELD_EXIT_MEND,    /**< nothing: the text says what to do */
    HELD_EXIT_RESOLVE, /**< gpufl resolve gives up what is gone */
    HELD_EXIT_FORCE,   /**< gpufl upload --force sends the session again */
};

/** X(identifier, key, exit, text). The last five block a session without holding it. */
#define HELD_REASONS(X)                                                                  \
    X(MISSING, "missing", RESOLVE, "a file before the newest one is missing")            \
    X(DELETED, "deleted", RESOLVE, "a file was deleted before all of it was sent")       \
    X(SHORTER, "shorter", RESOLVE, "a file is shorter than what was sent from it")       \
    X(LATE, "late", RESOLVE,                                                             \
      "a file came after a later one was sent: only a backend without positions can "    \
      "get it (gpufl upload --force)")                                                   \
    X(OTHER, "other", RESOLVE,                                                           \
      "the file that was being read is gone: another one has its name")                  \
    X(EARLIER, "earlier", FORCE,                                                         \
      "its files may be an earlier copy of what was sent: restore the newest ones")      \
    X(ACTIVE_GONE, "active_gone", RESOLVE, "its active file is gone")                    \
    X(CHANNEL_GONE, "channel_gone", RESOLVE,                                             \
      "its session has this channel, and no file of it is there")                        \
    X(COMPRESSED, "compressed", RESOLVE,                                                 \
      "its active file was compressed while its writer lived")                           \
    X(CUT, "cut", RESOLVE,                                                               \
      "its active file is not what its writer left: another program replaced it, or "    \
      "cut it off")                                                                      \
    X(COPIED, "copied", RESOLVE,                                                         \
      "its directory is a copy made before its writer had ended, or of one killed: "     \
      "nothing shows that it is whole")                                                  \
    X(DAMAGED, "damaged", RESOLVE, "a rotated or compressed file is damaged or cut off") \
    X(UNREADABLE, "unreadable", RESOLVE, "a file cannot be read")                        \
    X(CLOSED, "closed", MEND, "a file cannot be read: let this user read it")            \
    X(IN_THE_WAY, "in_the_way", MEND,                                                    \
      "what is not a file has the name of its next file: move it away")                  \
    X(ROTATED_GONE, "rotated_gone", FORCE, "the file that was being read is gone")       \
    X(WINDOW_MISSING, "window_missing", RESOLVE,                                         \
      "a window is missing: one before the newest, or the last of its channel")          \
    X(WINDOW_UNREADABLE, "window_unreadable", RESOLVE, "a window cannot be opened")      \
    X(WINDOW_SIDECAR, "window_sidecar", RESOLVE, "a window has no valid sidecar")        \
    X(BATCH, "batch", RESOLVE, "a batch from an earlier run cannot be re-read")          \
    X(REFUSED_BATCH, "refused_batch", RESOLVE, "a rejected batch cannot be re-read")     \
    X(BACKEND_OTHER, "backend_other", RESOLVE,                                           \
      "the backend has other lines of this session and channel: its files were "         \
      "changed, or are of another session")                                              \
    X(BACKEND_LONGER, "backend_longer", RESOLVE,                                         \
      "the backend has more of this session and channel: restore its files")             \
    X(WITHOUT_POSITIONS, "without_positions", MEND,                                      \
      "the backend stored this channel without positions: is it another backend, or "    \
      "an older copy")                                                                   \
    X(BACKEND_UNPROVED, "backend_unproved", RESOLVE,                                     \
      "the backend has lines up to a file that is gone or cannot be read, and nothing "  \
      "shows whose they are: restore it")                                                \
    X(EXPIRED, "expired", MEND, "the backend has deleted this session: remove it here")  \
    X(NO_POSITIONS, "no_positions", MEND,                                                \
      "the backend does not support positions any more: see 'positions' in "             \
      "info/version")                                                                    \
    X(QUARANTINE_FULL, "quarantine_full", MEND,                                          \
      "its user has as many ranges in quarantine as are kept: drop some (gpufl "         \
      "quarantine), or gpufl resolve removed sessions")                                  \
    X(OWNER, "owner", MEND,                                                              \
      "its directory belongs to another user than --require-owner-uid says: change its " \
      "owner, or the option")                                                            \
    X(CLAIMED, "claimed", MEND,                                                          \
      "another directory has the same session id and was found first "                   \
      "(session.claimed): remove one of the two")                                        \
    X(MOVED, "moved", RESOLVE,                                                           \
      "another directory with this session id, of which something was sent, is not "     \
      "there (session.claimed): move it back")                                           \
    X(REPLACED, "replaced", RESOLVE,                                                     \
      "a directory of another user has its name (session.replaced): remove it")          \
    X(CONTESTED, "contested", MEND,                                                      \
      "directories of two users have this session id, and nothing was sent of either: "  \
      "remove the wrong one (session.claimed)")                                          \
    X(FOREIGN, "foreign", MEND,                                                          \
      "it was complete from another user's directory (session.foreign): remove this "    \
      "one, or gpufl upload --force")                                                    \
    X(DIRECTORY, "directory", MEND,                                                      \
      "its directory cannot be read: let this user read it")                             \
    X(AWAY, "away", RESOLVE, "its directory is not there")                               \
    X(FALLS_SHORT, "falls_short", RESOLVE,                                               \
      "files that an earlier backend got were deleted: this one cannot get them")        \
    X(LAYOUT, "layout", MEND,                                                            \
      "its layout changed while it was being read: restore the files that were "         \
      "removed, and move those away that were added")                                    \
    X(MANIFEST_NEWER, "manifest_newer", MEND,                                            \
      "its .gpufl-session.json was written by a newer gpufl: upgrade this one")          \
    X(COPY, "copy", MEND,                                                                \
      "it is a copy of another session (session.other): move it out of the log "         \
      "directory, or remove it")                                                         \
    X(RENAMED, "renamed", MEND,                                                          \
      "what it holds is of another session (session.other): give the directory that "    \
      "name")                                                                            \
    X(MANIFEST_DAMAGED, "manifest_damaged", RESOLVE,                                     \
      "its .gpufl-session.json is damaged, or of another session: restore it")           \
    X(MANIFEST_UNREADABLE, "manifest_unreadable", RESOLVE,                               \
      "its .gpufl-session.json cannot be read: make it readable")                        \
    X(MANIFEST_GONE, "manifest_gone", RESOLVE,                                           \
      "its .gpufl-session.json is gone: restore it")                                     \
    X(NOT_READ, "not_read", RESOLVE, "files that may hold records are not read")         \
    X(GAP, "gap", RESOLVE, "lines or files of it were gone before they were read")       \
    X(REFUSED, "refused", RESOLVE, "lines were rejected")                                \
    X(LOST_ELSEWHERE, "lost_elsewhere", RESOLVE,                                         \
      "the backend was told that lines of it are lost, and takes them no more")          \
    X(FINAL, "final", MEND,                                                              \
      "it is not sent again: the backend was told that lines of it are lost, and takes " \
      "them no more")

#define HELD_ENUM_(id, key, exit, text) HELD_##id,

enum held_reason { HELD_NOT, HELD_REASONS(HELD_ENUM_) HELD_REASONS_COUNT };

/** Whether \p reason was logged since nothing held: \p said has a bit for each that was,
 * and \p last is the one that holds, or did; HELD_NOT = none. */
bool held_was_said(uint64_t said, enum held_reason last, enum held_reason reason);

/** \return \p said once \p reason was logged, too. Two reasons may take turns. */
uint64_t held_say(uint64_t said, enum held_reason last, enum held_reason reason);

/** A word for figures, such as "missing". */
const char *held_key(enum held_reason reason);

/** What stands in the way, for people. */
const char *held_text(enum held_reason reason);

enum held_exit held_exit(enum held_reason reason);

/** Of what is published of a hold, NUL included. */
#define HELD_TEXT_MAX 156

/** \return the reason with that text, behind which " (…)" may name the file; HELD_NOT for
 * any other. */
enum held_reason held_by_text(const char *text);

#endif

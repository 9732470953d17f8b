/* SPDX-License-Identifier: Apache-2.0 */
/* Why a session or a channel is held until somebody acts: one row a reason, with what is
 * said and what a person can do. */
#ifndef GPUFL_UPLOAD_CORE_HELD_H
#define GPUFL_UPLOAD_CORE_HELD_H

/** What ends a hold, other than that the cause goes away. */
enum held_exit {
    HELD_EXIT_MEND,  /**< nothing: the text says what to do */
    HELD_EXIT_FORCE, /**< gpufl upload --force sends the session again */
};

/** X(identifier, key, exit, text) */
#define HELD_REASONS(X)                                                                  \
    X(MISSING, "missing", MEND, "a file before the newest one is missing")               \
    X(DELETED, "deleted", MEND, "a file was deleted before all of it was sent")          \
    X(SHORTER, "shorter", MEND, "a file is shorter than what was sent from it")          \
    X(DAMAGED, "damaged", MEND, "a rotated or compressed file is damaged or cut off")    \
    X(UNREADABLE, "unreadable", MEND, "a file cannot be read")                           \
    X(ROTATED_GONE, "rotated_gone", FORCE, "the file that was being read is gone")       \
    X(ROTATED_UNREADABLE, "rotated_unreadable", MEND, "a rotated file cannot be read")   \
    X(WINDOW_MISSING, "window_missing", MEND,                                            \
      "a window is missing before the newest one")                                       \
    X(WINDOW_UNREADABLE, "window_unreadable", MEND, "a window cannot be opened")         \
    X(WINDOW_SIDECAR, "window_sidecar", MEND, "a window has no valid sidecar")           \
    X(BATCH, "batch", MEND, "a batch from before cannot be read again")                  \
    X(REFUSED_BATCH, "refused_batch", MEND, "a refused batch cannot be read again")      \
    X(OWNER, "owner", MEND,                                                              \
      "its directory belongs to another user (see --require-owner-uid)")                 \
    X(DIRECTORY, "directory", MEND, "its directory cannot be read")                      \
    X(LAYOUT, "layout", MEND, "its layout changed while it was being read")              \
    X(MANIFEST_NEWER, "manifest_newer", MEND,                                            \
      "its .gpufl-session.json was written by a newer gpufl: upgrade this one")          \
    X(MANIFEST_DAMAGED, "manifest_damaged", MEND,                                        \
      "its .gpufl-session.json is damaged, or of another session: restore it")           \
    X(MANIFEST_UNREADABLE, "manifest_unreadable", MEND,                                  \
      "its .gpufl-session.json cannot be read")                                          \
    X(MANIFEST_GONE, "manifest_gone", MEND, "its .gpufl-session.json is gone: restore it")

#define HELD_ENUM_(id, key, exit, text) HELD_##id,

enum held_reason { HELD_NOT, HELD_REASONS(HELD_ENUM_) HELD_REASONS_COUNT };

/** A word for figures, such as "missing". */
const char *held_key(enum held_reason reason);

/** What stands in the way, for people. */
const char *held_text(enum held_reason reason);

enum held_exit held_exit(enum held_reason reason);

#endif

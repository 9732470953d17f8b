/* SPDX-License-Identifier: Apache-2.0 */
/* The directory protocol: the only place that spells the name of a file. */
#ifndef GPUFL_SCHEMA_LAYOUT_H
#define GPUFL_SCHEMA_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Longest session id or file name that becomes a path or a header. */
#define LAYOUT_NAME_MAX 128
/** Longest channel name, without its NUL. */
#define LAYOUT_CHANNEL_MAX 31
/** Room for any name this module makes, NUL included. */
#define LAYOUT_PATH_MAX (LAYOUT_NAME_MAX + 64)
/** Room for the path of a session below its root: its name, or `<group>/<name>`. */
#define LAYOUT_SESSION_PATH_MAX (2 * (LAYOUT_NAME_MAX + 1))

/** Begins the names of all files of the directory protocol. */
#define LAYOUT_OWN_PREFIX ".gpufl-"
#define LAYOUT_MANIFEST   ".gpufl-session.json"
#define LAYOUT_LOCK       ".gpufl-session.lock"
/* A thread of the writer, whose files may be in a descriptor table of its own. */
#define LAYOUT_FILES_THREAD   "gpufl-files"
#define LAYOUT_SALVAGE_LOCK   ".gpufl-salvage.lock"
#define LAYOUT_RESERVE        ".gpufl-reserve"
#define LAYOUT_STAGING_PREFIX ".new-"
#define LAYOUT_TMP_DIR        ".tmp"
#define LAYOUT_STATE_DIR      ".gpufl-agent"
#define LAYOUT_PROGRESS       ".gpufl-agent/progress"
#define LAYOUT_COMPLETE       ".gpufl-agent/complete"
#define LAYOUT_PROGRESS_KEY   ".gpufl-agent/key"
#define LAYOUT_UPLOAD_CURSOR  ".gpufl-upload-cursor.json"
#define LAYOUT_UPLOADED       ".uploaded"

/** Highest number of a file. */
#define LAYOUT_NUMBER_MAX 999999999u

/** What a name inside a session directory stands for. */
enum layout_kind {
    LAYOUT_OTHER,
    LAYOUT_ACTIVE, /**< `<channel>.log`, or `<channel>.log.gz` of a v1.1 session's end */
    LAYOUT_NUMBERED, /**< `<channel>.<N>.log[.gz]` */
    LAYOUT_SIDECAR,  /**< `.gpufl-window.<channel>.<N>.json` */
    LAYOUT_LOSS,     /**< `.gpufl-transport-loss.…` */
    LAYOUT_NEXT,     /**< `.gpufl-next.<channel>.<N>` */
    LAYOUT_IS_MANIFEST,
    LAYOUT_IS_LOCK,
    LAYOUT_IS_TMP,
    LAYOUT_IS_UPLOADED, /**< an agent reported the session as complete */
};

/** One classified name. */
struct layout_name {
    enum layout_kind kind;
    char channel[LAYOUT_CHANNEL_MAX + 1]; /**< for ACTIVE, NUMBERED, SIDECAR, NEXT */
    uint32_t number; /**< for NUMBERED, SIDECAR and NEXT: 1 or more */
    bool gz;         /**< for ACTIVE and NUMBERED */
};

/** True when \p name is safe as a path component and as a header value:
 *  `[A-Za-z0-9._-]{1,128}` and no leading dot. */
bool layout_name_ok(const char *name);

/** True when \p name can be a channel: `[A-Za-z0-9_-]{1,31}`. */
bool layout_channel_ok(const char *name);

/** Length of the log directory that \p path names: the existing clients take `<dir>.log`
 * for `<dir>`. */
size_t layout_log_dir_len(const char *path);

/** Classifies \p name. Never fails: an unknown name is LAYOUT_OTHER. */
struct layout_name layout_parse(const char *name);

/** Size of what the writer keeps in its lock file about its active files. */
#define LAYOUT_TOLD_BYTES 512

/** There, the CRC-32C of all before it. */
#define LAYOUT_TOLD_CRC ",\"crc32c\":"

/** Room for what names a lock file. */
#define LAYOUT_LOCK_FILE_TEXT 48

/** In the place of such a name, its writer could not lock it again. */
#define LAYOUT_LOCK_LOST "lost"

/** Names a lock file as the manifest does: `<device>:<inode>`. */
void layout_lock_file(char out[LAYOUT_LOCK_FILE_TEXT], uint64_t device, uint64_t inode);

/** `<channel>.log` or `<channel>.log.gz` into \p out. */
void layout_active(char out[LAYOUT_PATH_MAX], const char *channel, bool gz);

/** `<channel>.<number>.log` or `….log.gz` into \p out. */
void layout_numbered(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number,
                     bool gz);

/** `.gpufl-transport-loss.<category>.<index>.json` into \p out. */
void layout_loss(char out[LAYOUT_PATH_MAX], const char *category, uint32_t index);

/** `.gpufl-window-ack.<channel>.<number>` into \p out. */
void layout_ack(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number);

/** The directory of session \p id that lies where the one at \p path does: in the same
 * group, or right below the root. */
void layout_beside(char out[LAYOUT_SESSION_PATH_MAX], const char *path, const char *id);

/** `.gpufl-next.<channel>.<number>` into \p out. */
void layout_next(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number);

/** `.gpufl-window.<channel>.<number>.json` into \p out. */
void layout_sidecar(char out[LAYOUT_PATH_MAX], const char *channel, uint32_t number);

#endif

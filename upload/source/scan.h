/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a session directory holds, and in which layout. */
#ifndef GPUFL_UPLOAD_SOURCE_SCAN_H
#define GPUFL_UPLOAD_SOURCE_SCAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "schema/channels.h"
#include "schema/layout.h"
#include "upload/source/identity.h"
#include "upload/source/listing.h"
#include "upload/source/scan_numbers.h"
#include "upload/source/told.h"
#include "upload/source/unread.h"

/** Channels of one session that are followed. */
#define SCAN_CHANNELS_MAX 8u

enum session_layout {
    SESSION_LIVE,     /**< ours: active `<ch>.log`, sealed `<ch>.N.log`, 1 oldest */
    SESSION_WINDOWS,  /**< v1.3: published `<ch>.N.log[.gz]` with sidecars, 1 oldest */
    SESSION_SHIFTING, /**< v1.1 and plain: `<ch>.log`, rotated `<ch>.N.log`, 1 newest;
                         each may end in `.gz` */
};

/** `.gpufl-session.json`. */
enum scan_manifest {
    SCAN_MANIFEST_NONE,
    SCAN_MANIFEST_VALID,
    SCAN_MANIFEST_NEWER, /**< of a version that is not known */
    SCAN_MANIFEST_DAMAGED,
    SCAN_MANIFEST_OTHER, /**< of another session */
    SCAN_MANIFEST_UNREADABLE,
};

struct scan_channel {
    char name[LAYOUT_CHANNEL_MAX + 1];
    uint32_t lowest;             /**< lowest numbered payload file, 0 = none */
    uint32_t highest;            /**< highest numbered payload or sidecar, or told by the
                                    writer of a live session; 0 = none */
    uint32_t highest_shifting;   /**< of those up to SCAN_SHIFTING_MAX */
    uint32_t payloads;           /**< numbered payload files */
    struct scan_numbers rotated; /**< those that may be of the shifting layout */
    bool told;                   /**< the writer noted the number of the active file */
    uint32_t told_active;        /**< that number; 0 = none, or a file of it is there */
    uint32_t noted;     /**< likewise, also if it was noted on another boot or host, where
                           it proves nothing */
    int64_t told_bytes; /**< no more than that are in it; -1 = not told */
    enum told_fit told_fit;    /**< whether `<ch>.log` is as told */
    bool has_active;           /**< `<ch>.log` */
    bool has_active_gz;        /**< `<ch>.log.gz` */
    int64_t active_changed_ns; /**< time of its last change, in either form */
    uint64_t active_bytes;
    uint64_t numbered_bytes; /**< of all numbered payload files */
    uint64_t disk_bytes;     /**< that all its files take on disk */
};

struct scan {
    enum session_layout layout;
    struct scan_channel channel[SCAN_CHANNELS_MAX];
    unsigned channels;
    uint32_t next[CHANNEL_COUNT]; /**< the number in `.gpufl-next.…`, 0 = none */
    bool has_lock;
    bool has_tmp;      /**< a v1.3 writer's unpublished data */
    bool has_uploaded; /**< some agent reported it as complete */
    bool has_loss;     /**< a loss marker: the session is never complete */
    bool is_copy;      /**< see told_is_copy() */
    enum scan_manifest manifest_state;
    struct manifest manifest;
    char other[LAYOUT_NAME_MAX + 1]; /**< the id in a manifest of another session */
    int64_t last_write_s;            /**< of the payload files, 0 = there are none */
    bool is_begun; /**< it has a file of a known channel, be it one that is not read */
    struct unread unread; /**< what is not read */
};

/** A session directory that is being listed. */
struct scanned_dir {
    int fd;
    struct stat st;
    bool live; /**< it has a manifest */
};

struct scan_marks {
    bool manifest;
    bool sidecar;
};

/** A scan in steps: there may be any number of names. */
struct scanning {
    gpufl_status status;
    unsigned names; /**< so far */
    struct scanned_dir dir;
    struct scan_marks marks;
    struct scan found;
    struct listing listing;
};

/** Inspects the directory \p dir of the session \p id, which was just opened for reading
 * and stays open. \p id NULL = the session's manifest was found valid before: that the
 * file exists is enough, and out->manifest stays empty. What lies beside active files is
 * left to scan_second_some(), see scan_session.h.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when it holds no session file; GPUFL_ERR_IO,
 * with nothing in \p out. */
GPUFL_MUST gpufl_status scan_directory(const struct sys *sys, int dir, const char *id,
                                       struct scan *out);

/** The same in steps: begins to list the directory \p dir, which was just opened for
 * reading and stays open until the scan ends. */
void scan_begin(struct scanning *scanning, int dir);

/** Reads at most \p names more. \return true if none is left, or after an error. */
bool scan_some(struct scanning *scanning, unsigned names);

/** \return true if a name that was read so far, or a manifest, makes it a session. */
bool scan_shows_session(const struct scanning *scanning);

/** \return as scan_directory, once scan_some has returned true. */
GPUFL_MUST gpufl_status scan_end(struct scanning *scanning, const struct sys *sys,
                                 const char *id, struct scan *out);

/** \return the channel of that name; NULL if the directory shows no file of it. */
const struct scan_channel *scan_find_channel(const struct scan *scan, const char *name);

#endif

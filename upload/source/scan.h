/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a session directory holds, and in which layout. */
#ifndef GPUFL_UPLOAD_SOURCE_SCAN_H
#define GPUFL_UPLOAD_SOURCE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"
#include "schema/layout.h"
#include "upload/source/identity.h"
#include "upload/source/listing.h"

/** Channels of one session that are followed. */
#define SCAN_CHANNELS_MAX 8u

enum session_layout {
    SESSION_LIVE,     /**< ours: active `<ch>.log`, sealed `<ch>.N.log`, 1 oldest */
    SESSION_WINDOWS,  /**< v1.3: published `<ch>.N.log[.gz]` with sidecars, 1 oldest */
    SESSION_SHIFTING, /**< v1.1 and plain: `<ch>.log`, rotated `<ch>.N.log`, 1 newest;
                         each may end in `.gz` */
};

struct scan_channel {
    char name[LAYOUT_CHANNEL_MAX + 1];
    uint32_t lowest;    /**< lowest numbered payload file, 0 = none */
    uint32_t highest;   /**< highest numbered payload or sidecar, 0 = none */
    uint32_t payloads;  /**< numbered payload files */
    bool has_active;    /**< `<ch>.log` */
    bool has_active_gz; /**< `<ch>.log.gz` */
    uint64_t active_bytes;
};

struct scan {
    enum session_layout layout;
    struct scan_channel channel[SCAN_CHANNELS_MAX];
    unsigned channels;
    bool has_lock;
    bool has_tmp;      /**< a v1.3 writer's unpublished data */
    bool has_uploaded; /**< some agent reported it as complete */
    bool has_loss;     /**< a loss marker: the session is never complete */
    bool has_manifest; /**< a valid one */
    bool bad_manifest; /**< one that is not */
    struct manifest manifest;
    int64_t last_write_s; /**< of the payload files, 0 = there are none */
    unsigned refused;     /**< payload names that are links or not files, or belong to one
                               channel too many */
};

/** Inspects `<root>/<path>`, a session whose id is \p id.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when it holds no session file; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                                     const char *id, struct scan *out);

/** The same for a session whose manifest was found valid before: that the file exists is
 * enough, and out->manifest stays empty. */
GPUFL_MUST gpufl_status scan_session_again(const struct sys *sys, int root,
                                           const char *path, struct scan *out);

/** Calls \p visit for each subdirectory of `<root>/<path>`.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND; GPUFL_ERR_IO. */
GPUFL_MUST gpufl_status scan_subdirs(const struct sys *sys, int root, const char *path,
                                     void (*visit)(void *arg, const char *name),
                                     void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a session directory says about itself: window sidecars and the manifest. */
#ifndef GPUFL_UPLOAD_SOURCE_IDENTITY_H
#define GPUFL_UPLOAD_SOURCE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpufl/status.h>

#include "base/session_id.h"
#include "schema/layout.h"

/** Largest manifest or sidecar that is read. */
#define IDENTITY_MAX_BYTES 65536u
/** Most channels that a manifest may list, known ones or not. */
#define MANIFEST_CHANNELS_MAX 32u

/** `.gpufl-window.<channel>.<N>.json`. */
struct sidecar {
    unsigned char window_id[16];
    uint32_t sequence;
    char payload_file[LAYOUT_PATH_MAX];
    uint64_t payload_bytes;
    uint32_t payload_crc32; /**< of the file's bytes as they lie on disk */
    bool salvaged;          /**< it does not tell when its writer opened it */
};

/** `.gpufl-session.json` of a live session. */
struct manifest {
    char id_nonce[SESSION_NONCE_TEXT]; /**< "" = not told, by earlier versions */
    int64_t pid;
    char boot_id[40];
    int64_t pid_namespace;                 /**< -1 = not told, by earlier versions */
    int64_t pid_start_ticks;               /**< likewise */
    char lock_file[LAYOUT_LOCK_FILE_TEXT]; /**< "" = not told, by earlier versions */
    int64_t lock_born_ns;                  /**< since the epoch; 0 = not told */
    unsigned channels;                     /**< 0 = not told, by earlier versions */
    char channel[MANIFEST_CHANNELS_MAX][LAYOUT_CHANNEL_MAX + 1];
};

/** Reads the sidecar of window \p number of \p channel of \p session from \p text; its
 * fields must name just these. \return GPUFL_OK or GPUFL_ERR_FORMAT. */
GPUFL_MUST gpufl_status sidecar_parse(const char *text, size_t len, const char *session,
                                      const char *channel, uint32_t number,
                                      struct sidecar *out);

/** \return true if \p text is the sidecar of that window of whatever session, whose id it
 * copies. */
bool sidecar_names(const char *text, size_t len, const char *channel, uint32_t number,
                   char id[LAYOUT_NAME_MAX + 1]);

/** Reads a manifest of \p session. \return GPUFL_OK or GPUFL_ERR_FORMAT. */
GPUFL_MUST gpufl_status manifest_parse(const char *text, size_t len, const char *session,
                                       struct manifest *out);

/** \return true if \p text is a manifest of whatever session, whose id it copies. */
bool manifest_names(const char *text, size_t len, char id[LAYOUT_NAME_MAX + 1]);

/** \return true if \p text is a manifest of a version that is not known yet. */
bool manifest_is_newer(const char *text, size_t len);

/** The `ts_ns` of the first `job_start` among the lines of \p text, the last of which may
 * be cut. \return false when there is none. */
bool identity_job_start_ns(const char *text, size_t len, int64_t *ts_ns);

#endif

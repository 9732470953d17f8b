/* SPDX-License-Identifier: Apache-2.0 */
/* The active file of one channel: begins it, seals it, gives it its name back. */
#ifndef GPUFL_COLLECTOR_CORE_CHANNEL_FILE_H
#define GPUFL_COLLECTOR_CORE_CHANNEL_FILE_H

#include <stdint.h>

#include "collector-lib/core/own_fd.h"
#include "schema/channels.h"

struct channel_file {
    struct own_fd own;
    uint64_t size_bytes;
    uint64_t told_bytes;    /* at most that many are in it, or are about to be */
    uint32_t rotated;       /* number of the last sealed file */
    int64_t first_write_ns; /* monotonic, of the active file; 0 = empty */
};

/** Creates the channel's first file in \p dir. \return 0, or -1 with errno. */
int channel_file_begin(struct channel_file *file, int dir, enum channel channel);

/** Seals `<channel>.log` under the next number and begins a new one. If it cannot, the
 * active file keeps growing, and the next write tries again. */
void channel_file_rotate(struct channel_file *file, int dir, enum channel channel);

/** Opens the active file again if its descriptor was closed. */
void channel_file_mend(struct channel_file *file, int dir, enum channel channel);

/** Makes an active file that somebody has removed anew, with all that was written. */
void channel_file_restore(struct channel_file *file, int dir, enum channel channel);

#endif

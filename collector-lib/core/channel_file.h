/* SPDX-License-Identifier: Apache-2.0 */
/* The active file of one channel: begins it, seals it, gives it its name back. */
#ifndef GPUFL_COLLECTOR_CORE_CHANNEL_FILE_H
#define GPUFL_COLLECTOR_CORE_CHANNEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector-lib/core/own_fd.h"
#include "collector-lib/core/session_parts.h"
#include "schema/channels.h"

struct channel_file {
    struct own_fd own;
    uint64_t size_bytes; /* of whole lines */
    uint64_t torn_bytes; /* of half a line behind them, which could not be cut off … */
    uint64_t torn_at;    /* …, and begins there: less, if others have cut the file */
    bool halved;         /* others have cut it within a line: it is only sealed */
    uint64_t told_bytes; /* at most that many are in it, or are about to be */
    uint32_t rotated;    /* number of the last sealed file */
    int64_t first_write_ns; /* monotonic, of the active file; 0 = empty */
    bool name_loss_said;    /* that it has no name, and does not get it back */
    bool loss_marked;       /* likewise, in a loss marker of its number */
    bool taken_said;        /* that its number is taken */
};

/** Creates the channel's first file in \p dir. \return 0, or -1 with errno. */
int channel_file_begin(struct channel_file *file, int dir, enum channel channel);

/** Seals `<channel>.log` under the next number and begins a new one. If it cannot, the
 * active file keeps growing, and the next write tries again. A file that has the next
 * number already is only followed by a new one. \return 0, or -1 with errno. */
int channel_file_rotate(struct channel_file *file, int dir, enum channel channel);

/** True if lines of the channel are, or were, in a file. */
bool channel_file_has_begun(const struct channel_file *file);

/** How many bytes a file of this process may have (RLIMIT_FSIZE). */
uint64_t channel_file_limit(void);

/** Notes that the \p bytes at its end are half a line. */
void channel_file_tear(struct channel_file *file, uint64_t bytes);

/** Cuts half a line off, unless others have done so. \return false with errno. */
bool channel_file_cut(struct channel_file *file);

/** Opens the active file again if its descriptor was closed. */
void channel_file_mend(struct channel_file *file, int dir, enum channel channel);

/** True if the file that is written was seen under the name of the active file, or of the
 * next sealed one: nothing of it is lost. */
bool channel_file_is_named(const struct channel_file *file, int dir,
                           enum channel channel);

/** False if another program has removed the active file, has given it another name than
 * its next one, or has put another file in its place. */
bool channel_file_has_name(const struct channel_file *file, int dir,
                           enum channel channel);

/** True if the active file has its next number, and no file is active, or one that holds
 * nothing else: a rotation could neither be finished nor undone, or another program has
 * renamed it. */
bool channel_file_is_sealed(const struct channel_file *file, int dir,
                            enum channel channel);

/** True if another program has cut the active file. */
bool channel_file_is_cut(const struct channel_file *file);

/** True if one of \p count files is. */
bool channel_file_any_is_cut(const struct channel_file *file, unsigned count);

/** Notes how much is left of a file that was cut. Half a line stays, from which readers
 * see that it was. \return the whole lines. */
struct session_amount channel_file_keep_rest(struct channel_file *file);

enum channel_restored {
    CHANNEL_RESTORED,
    CHANNEL_NOT_RESTORED, /**< errno says why; a later try may succeed */
    CHANNEL_REPLACED,     /**< its name has a file of other content, which stays */
};

/** Gives an active file without a name its name back, with all that was written. A copy
 * of its beginning that has the name is replaced. \p lost, unless it is restored: the
 * lines that are neither in what has the name nor under a number. */
enum channel_restored channel_file_restore(struct channel_file *file, int dir,
                                           enum channel channel,
                                           struct session_amount *lost);

#endif

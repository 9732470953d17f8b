/* SPDX-License-Identifier: Apache-2.0 */
/* A session directory with what lies beside its active files: which compressed ones are
 * passed over. */
#ifndef GPUFL_UPLOAD_SOURCE_SCAN_SESSION_H
#define GPUFL_UPLOAD_SOURCE_SCAN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/source/scan.h"
#include "upload/source/second_form.h"

/** Inspects `<root>/<path>`, a session whose id is \p id.
 *  \return GPUFL_OK; GPUFL_ERR_NOT_FOUND when it holds no session file; GPUFL_ERR_IO,
 * with nothing in \p out. */
GPUFL_MUST gpufl_status scan_session(const struct sys *sys, int root, const char *path,
                                     const char *id, struct scan *out);

/** \return what stands for the files of known channels that it found, their sizes and
 * when the active ones changed; never 0. Other files have another one, but for one chance
 * in 2^31. */
uint32_t scan_stamp(const struct scan *scan);

/** \return true if a manifest is there, and says nothing of this session. */
bool scan_is_unlisted(const struct scan *scan);

/** \return true if positions do not tell where the session ends: numbers of rotated files
 * shift, and the size of a compressed active file says nothing. */
bool scan_hides_end(const struct scan *scan);

/** \return true if what was listed shows files with other names, or compressed active
 * ones, which may hold what is not read. */
bool scan_is_odd(const struct scanning *scanning);

/** \return true if file \p number of \p channel in `<root>/<path>`, a session of the live
 * layout, is a copy of its active file, see told_is_anothers(). */
bool scan_number_is_copy(const struct sys *sys, int root, const char *path,
                         const char *channel, uint32_t number);

/** Where the compressed active files of a session are compared with what else is there:
 * they may take any time. All zero at first; end with second_form_stop of `search`. */
struct scan_second {
    unsigned at; /**< the channel */
    struct second_search *search;
};

struct scan_second_of {
    const struct sys *sys;
    int dir; /**< the session's directory */
    struct scan *scan;
    bool lives;                 /**< the writer does */
    struct second_known *known; /**< CHANNEL_COUNT: what earlier calls found */
};

/** Takes compressed active files that are copies of what else is there for nothing, and
 * notes others beside active ones, or that cannot be read to their end, as not read.
 * Stops once *budget bytes, which are taken from it, were compared. \return true at the
 * end. */
bool scan_second_some(struct scan_second *second, const struct scan_second_of *of,
                      int64_t *budget);

#endif

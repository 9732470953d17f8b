/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a compressed file with the files that it may have been made of, in steps:
 * anybody can make any number of these, of any size. */
#ifndef GPUFL_UPLOAD_SOURCE_SECOND_FORM_H
#define GPUFL_UPLOAD_SOURCE_SECOND_FORM_H

#include <stdint.h>

#include <gpufl/status.h>

#include "base/sys.h"

/** So much is compared in one step, which takes about as long as listing 1,024 names. */
#define SECOND_FORM_STEP_BYTES (256 << 10)

/** What `<channel>.log.gz` is, beside `<channel>.log` or instead of it. The greatest one
 * counts: the channel has several files that it may begin. */
enum second_form {
    SECOND_FORM_OTHER,      /**< it holds something else, or not one whole line */
    SECOND_FORM_CUT_ACTIVE, /**< it is cut off; what it yields begins `<channel>.log` */
    SECOND_FORM_CUT,        /**< it is cut off or damaged; what it yields begins a file */
    SECOND_FORM_UNREADABLE, /**< it or what it is compared with: that may pass */
    SECOND_FORM_COPY_ACTIVE, /**< it is sound; `<channel>.log` begins with all of it */
    SECOND_FORM_COPY,        /**< …; a sealed file does */
};

/** Stands for what was found, so that it is not read again until it changes; all zero =
 * nothing was. */
struct second_known {
    uint64_t stamp; /**< of the compressed file, its form and the active file */
    uint64_t files; /**< those it was compared with, if it begins none of them */
};

/** A channel in an open directory of a session. */
struct second_place {
    const struct sys *sys;
    int dir;
    const char *channel;
    uint64_t files; /**< stands for those that are there now */
    struct second_known *known;
};

struct second_search;

/** Compares `<channel>.log.gz` with `<channel>.log` and the sealed files of the channel,
 * until *budget bytes, which are taken from it, were compared: it may end below 0, as a
 * piece may cost more than it holds (gz_work). *search is NULL at first,
 * and stays the caller's while there is more. An error is never known.
 * \return GPUFL_OK with *form, then *search is NULL; GPUFL_BUSY if there is more. */
GPUFL_MUST gpufl_status second_form_step(const struct second_place *place,
                                         struct second_search **search, int64_t *budget,
                                         enum second_form *form);

/** Gives up a search; NULL = none. */
void second_form_stop(struct second_search *search);

#endif

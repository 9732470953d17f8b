/* SPDX-License-Identifier: Apache-2.0 */
/* The record about the directory of a session: by what it is known again. */
#ifndef GPUFL_UPLOAD_JOURNAL_RECORD_DIRECTORY_H
#define GPUFL_UPLOAD_JOURNAL_RECORD_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"

/** A directory as it was seen, see directory_look(). */
struct directory_id {
    uint64_t mark;  /**< by which it is known again on the same boot; 0 = it is not */
    uint32_t boot;  /**< stands for the boot; 0 = not known, by earlier versions */
    uint32_t user;  /**< uid of its owner plus one; 0 = not known, by earlier versions */
    uint32_t above; /**< half a mark of the directory in which it lies below the root; 0 =
                       it is not known, or lies in the root itself */
    bool above_own; /**< that one has the same owner */
};

/** About a session that the journal knows. */
struct record_directory {
    struct directory_id id;
    char path[JOURNAL_PATH_MAX];
    char from[JOURNAL_PATH_MAX]; /**< where it was known before; "" = it is new */
};

/** Appends one record. \return the ticket, 0 on failure. */
uint64_t record_append_directory(struct journal *journal,
                                 const struct record_directory *record);

/** Reads one record. \return false when it is not what it says. */
bool record_parse_directory(const struct journal_record *record,
                            struct record_directory *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the progress files, see progress_file.h. */
#ifndef GPUFL_UPLOAD_PUBLISHED_PROGRESS_PARSE_H
#define GPUFL_UPLOAD_PUBLISHED_PROGRESS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "upload/journal/journal_records.h"
#include "upload/journal/record_directory.h"

#define PROGRESS_LINE_BYTES  (JOURNAL_PATH_MAX + 128)
#define PROGRESS_QUARANTINED " quarantined="
#define PROGRESS_REACHED     " reached="
#define PROGRESS_SEEN        " seen="
#define PROGRESS_ENDS        " ends"
#define PROGRESS_DIRECTORY   " dir="
#define PROGRESS_EPOCH       " epoch="
#define PROGRESS_MARK        " mark="

/** One line of a channel. */
struct progress_line {
    char path[JOURNAL_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1];
    uint32_t file;
    uint64_t offset;
    uint32_t sequence;
    uint32_t kind;
    uint64_t lines; /**< settled; this and what follows is 0 where it is not told */
    uint64_t refused_lines;
    uint32_t losses;
    uint32_t layout;
    uint32_t marks;
    uint32_t outcome;      /**< of the session, if it is complete */
    uint32_t quarantined;  /**< ranges of the session */
    uint32_t reached_file; /**< 0 = no earlier backend got more of it */
    uint64_t reached_offset;
    uint32_t stamp;   /**< of the session's files, of which all is settled, see
                         scan_stamp(); 0 = more is to come, or not known */
    bool tells_stamp; /**< as no earlier version does */
    bool ends;        /**< the session will be complete: nothing is in the way */
    uint64_t epoch;   /**< in which the backend had what is settled; 0 = not told */
    struct record_mark mark;       /**< before offset, of a file that others rename */
    bool complete;                 /**< the backend knows the end of the session */
    bool told;                     /**< the figures are */
    struct directory_id directory; /**< of the session; its user is 0 where it is not
                                      told: the first line of a session does */
};

/** What stands in the way of all sessions, or of one; or how many more there are; or how
 * many directories of an owner there is no room for. */
struct progress_note {
    unsigned more;   /**< if not 0, nothing else is set */
    unsigned waits;  /**< if not 0, only `owner` is set, too */
    uint32_t owner;  /**< whose directory `path` was; of `waits`, whose they are */
    bool owned;      /**< `owner` is told */
    bool aside;      /**< `text`, and nothing else, is what else of the program does not
                        work: nothing waits for it */
    int64_t since_s; /**< of all: since then; 0 = of the session `path` */
    char path[JOURNAL_PATH_MAX];
    char channel[LAYOUT_CHANNEL_MAX + 1]; /**< "*" = all of them */
    char text[320];
};

/** Parses a line that tells of trouble. \p out is what the line before told, from which
 * the owner is taken; all 0 at first. \return false if it is another kind of line. */
bool progress_parse_note(const char *line, struct progress_note *out);

/** Calls \p visit for each line of a stream in \p text. Lines that cannot be read are
 * skipped. \p next keeps what is told of the next line when a file is read in parts; all
 * but `complete` is 0 at its beginning. */
void progress_parse(const char *text, size_t len, struct progress_line *next,
                    void (*visit)(void *arg, const struct progress_line *line),
                    void *arg);

#endif

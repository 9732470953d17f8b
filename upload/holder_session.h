/* SPDX-License-Identifier: Apache-2.0 */
/* One session that another uploader sends: what its directory shows, and what that
 * uploader tells of it. */
#ifndef GPUFL_UPLOAD_HOLDER_SESSION_H
#define GPUFL_UPLOAD_HOLDER_SESSION_H

#include "upload/engine/engine_report.h"
#include "upload/journal/journal_read.h"
#include "upload/published/progress_file.h"
#include "upload/source/select.h"

/** What its uploader tells of it. */
struct holder_told {
    bool any; /**< more than positions: an earlier version does not say all of this */
    bool complete;
    bool lacks;              /**< then: the backend knows that lines of it are missing */
    bool complete_elsewhere; /**< one of its id, under another path */
    bool tells; /**< what it has settled of the files, as no earlier version does: … */
    uint32_t stamp; /**< … all that they were by then, see scan_stamp(); 0 = not all */
    bool ends;      /**< and it will be complete */
    bool doubted;   /**< the backend has been started again, or put back, since it was
                         last known to have this */
    bool gap;
    bool elsewhere; /**< also of a channel of which no file is there */
    uint64_t refused_lines;
};

struct holder_session {
    const struct selected *selected;
    bool unreadable; /**< its directory is */
    enum session_layout layout;
    bool hides_end;  /**< no position tells its end: what is told of its files counts */
    uint32_t stamp;  /**< of these, at the call … */
    uint64_t bytes;  /**< … and their size */
    bool tmp;        /**< windows are there that are not published */
    bool lossy;      /**< its recorder dropped lines */
    bool lacks_file; /**< of those that its writer tells of */
    unsigned unread; /**< files that may hold records and are not read, nor given up */
    char unread_name[UNREAD_NAME_MAX];
    bool uploaded;     /**< some uploader noted in it that it is complete … */
    bool passed;       /**< … and that of ours may leave it at that */
    bool doubtful;     /**< not all is there that its writer tells of */
    bool gone;         /**< its directory was removed since */
    uint64_t asked;    /**< the epoch in which the backend was last asked for it */
    uint64_t compared; /**< the epoch in which the backend was found to have what is told
                          of an earlier one; 0 = none */
    struct holder_told told;
    struct holder_told told_complete;     /**< by the file of complete sessions */
    bool left;                            /**< its group is left to another uploader */
    char channel[LAYOUT_CHANNEL_MAX + 1]; /**< the first that is held, "*" = all of it */
    char hold[160];                       /**< why; "" = it is not held */
};

/** \p scan is that of \p selected, which stays; \p journal is that of its uploader, NULL
 * = it cannot be read. Nothing is told yet. */
void holder_session_open(struct holder_session *session, const struct selected *selected,
                         const struct scan *scan, const struct journal_read *journal);

/** One that cannot be looked into. Nothing is told yet. */
void holder_session_open_unreadable(struct holder_session *session,
                                    const struct selected *selected);

/** Forgets what was told, but for what the file of complete sessions said. */
void holder_session_forget(struct holder_session *session);

/* Each notes what is told, of this session. \p epoch is that of the backend now. */
void holder_session_note_line(struct holder_session *session,
                              const struct progress_line *line, uint64_t epoch);
void holder_session_note_hold(struct holder_session *session,
                              const struct progress_note *note);

/** \return true if a hold stands in its way. */
bool holder_session_is_held(const struct holder_session *session);

/** \return true if that does not end unless a person acts. */
bool holder_session_needs_person(const struct holder_session *session);

/** \return true if it lies in a group that is left to the uploader of another user: that
 * is not ours to wait for, unless the session was asked for alone, or is ours. */
bool holder_session_is_left_to_another(const struct holder_session *session, int root);

/** \return true if its directory is not there any more; remembers that. */
bool holder_session_is_gone(struct holder_session *session, int root);

/** \return true if its end, too, is settled, or it has none yet, or never will be
 * complete. A session whose writer has ended is only known as a whole once the uploader
 * has said which of these it is. */
bool holder_session_is_over(const struct sys *sys, int root,
                            const struct holder_session *session);

/** Where it lies, and what is known of it besides. */
struct holder_look {
    const struct sys *sys;
    int root;
    const struct journal_read *journal; /**< of its uploader; NULL = it cannot be read */
};

/** Adds it to the figures of \p out, and names what stands in its way. Files that are not
 * read may have come since it was complete, and its uploader looks for these once a
 * minute: they count unless its journal says that a person gave them up. */
void holder_session_count(const struct holder_look *look,
                          const struct holder_session *session,
                          struct engine_summary *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine reports: figures, and whether anything is left to do. */
#ifndef GPUFL_UPLOAD_ENGINE_ENGINE_REPORT_H
#define GPUFL_UPLOAD_ENGINE_ENGINE_REPORT_H

#include "upload/core/held.h"
#include "upload/core/origin.h"
#include <stdbool.h>
#include <stdint.h>

struct engine;

/** Figures since the engine began. Walks all sessions. */
struct engine_summary {
    unsigned sessions;
    unsigned sessions_done;      /**< ended at the backend … */
    unsigned sessions_lacking;   /**< … not complete: it knows that lines are missing */
    unsigned sessions_marked;    /**< left alone, as another program has marked them */
    unsigned sessions_live;      /**< their writer is there or may be */
    unsigned sessions_blocked;   /**< never complete: quarantine, refusal, held */
    unsigned sessions_kept_back; /**< of those: held, or with files that are not read */
    unsigned sessions_away;      /**< not complete, and their directory is not there */
    char away_session[256];      /**< one of these, "" = not known */
    unsigned sessions_lossy;     /**< never complete: their recorder dropped lines */
    char lossy[256];             /**< one of these, "" = there is none */
    unsigned streams_pending;    /**< something of them is not settled */
    unsigned streams_stuck;      /**< failing while others succeed */
    uint64_t files_acked;        /**< files of which something was acknowledged */
    uint64_t batches_acked;
    uint64_t windows_acked;
    uint64_t lines_acked;
    uint64_t file_bytes_acked; /**< of files, windows as they lie on disk */
    uint64_t sent_bytes;       /**< bodies, as sent */
    uint64_t compared_bytes;   /**< of files, with what the backend has */
    uint64_t requests;
    uint64_t retries;
    uint64_t lines_rejected;     /**< the backend took the batch but not these */
    uint64_t ranges_quarantined; /**< in the journal, earlier runs included */
    uint64_t lines_refused_final;
    unsigned stuck_failures;      /**< of the stream that failed alone most often */
    unsigned streams_done_before; /**< of sessions that were complete when we began */
    unsigned failures_in_row;     /**< failed requests since the last success */
    unsigned in_flight;           /**< requests */
    bool ever_answered;           /**< the origin has answered at least once */
    uint64_t state_write_errors;  /**< how many times a journal broke */
    enum engine_hold hold;
    int hold_status;
    char last_problem[256];   /**< one sentence, "" = none */
    unsigned roots_away;      /**< their path names nothing that can be served */
    char away[520];           /**< one of these, and why */
    char held[480];           /**< the first session or channel that is held, and why */
    enum held_exit held_exit; /**< what ends that */
    char unfinished[384];     /**< a line that may be torn, "" = there is none */
    char awaited[384];        /**< see awaited_end_note() */
    unsigned directories_waiting; /**< there is no room for more of their owner */
    uint32_t waiting_owner;       /**< one of these */
    uint64_t kept_bytes;          /**< of all directories */
    unsigned directories_skipped; /**< left to another uploader */
    char left[256];               /**< one of these, of which sessions were chosen */
    uint32_t left_owner;          /**< whose directory it is */
};

void engine_summary(const struct engine *engine, struct engine_summary *out);

/** \return true if the origin took everything that it was sent and nothing is kept back:
 * no session is blocked or away, no root away, no line was rejected or refused. */
bool engine_summary_accepted(const struct engine_summary *summary);

/** \return true if nothing is left to do: all wanted sessions are settled, and reported
 * complete where that is wanted. */
bool engine_drained(const struct engine *engine);

/** \return true if nothing is left to do but to list the roots again, as there is room
 * for directories that wait. */
bool engine_waits_for_listing(const struct engine *engine);

/** \return true if what is left to do in a run on demand is about sessions of other
 * users that were not named; \p which says of which, "" = of none that is known. */
bool engine_left_to_others(const struct engine *engine, char which[256]);

#endif

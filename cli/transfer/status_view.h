/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways to show the status of a directory: JSON and lines for people. */
#ifndef GPUFL_CLI_TRANSFER_STATUS_VIEW_H
#define GPUFL_CLI_TRANSFER_STATUS_VIEW_H

#include "base/text.h"
#include "cli/transfer/channel_state.h"
#include "schema/losses.h"
#include "upload/published/progress_file.h"
#include "upload/resolve/quarantine.h"

struct status_session {
    const char *id;
    const char *path;                  /**< below the directory */
    const char *writer;                /**< "live", "ended" or "unknown" */
    const struct record_session *done; /**< how the backend was told its end, or NULL */
    bool end_untold;      /**< nobody tells how it is done, only that it is */
    bool end_waits;       /**< all of it is settled, and the backend is not told yet */
    bool loss;            /**< lines were dropped while recording */
    struct losses losses; /**< that its recorder counted */
    bool counts;          /**< for the exit status */
    bool away;            /**< its directory is not there; the journal knows it */
    const char *problem;  /**< why nothing of it is sent; NULL = nothing is wrong */
    const struct unread *unread;
    bool unread_given_up;
    const char *resolve; /**< the command that gives up what is gone; NULL = nothing is */
    const char *quarantine; /**< the command that lists what of it is in quarantine, where
                               that is not shown; NULL = nothing is */
    const char *who;        /**< can run these, "" = this user */
};

/** From where it is known what was sent. */
struct status_source {
    bool journal;    /**< there is one that can be read, and it counts */
    size_t sessions; /**< that it names */
    bool service;    /**< one that serves the directory tells it */
    bool silent;     /**< that has told nothing yet */
    /** The backend of the journal, if it does not count beside that of the service. */
    char left_out[JOURNAL_URL_MAX];
};

/** What a person can do about a hold. */
struct status_exit {
    const char *command; /**< NULL = mend what is wrong */
    const char *who;     /**< can run it, "" = this user */
    bool again;          /**< it sends the session again; else it gives up what is gone */
    bool served;         /**< an uploader runs, which is in the way of sending it again */
};

/** The whole of it, when all was shown. */
struct status_end {
    bool all_sent;
    bool waiting; /**< something would be sent by an uploader */
    bool quarantined;
    bool untold; /**< the service is of a version that does not tell all */
    bool served;
    bool none;      /**< there is no session */
    size_t unseen;  /**< directories of other users that were not looked at */
    unsigned lossy; /**< sessions of which lines were dropped while recording */
};

/** Called in this order; each appends to \p out. */
struct status_view {
    void (*start)(struct text *out, const struct status_source *source);
    void (*holder)(struct text *out, const char *holder); /**< NULL = nobody */
    void (*note)(struct text *out, const struct progress_note *note,
                 const struct status_exit *ends);
    void (*sessions)(struct text *out);
    void (*session)(struct text *out, const struct status_session *session);
    void (*channel)(struct text *out, const char *name,
                    const struct channel_state *state);
    void (*session_end)(struct text *out, const struct status_session *session);
    void (*quarantine)(struct text *out);
    void (*range)(struct text *out, const struct quarantined *range);
    void (*end)(struct text *out, const struct status_end *end);
};

#endif

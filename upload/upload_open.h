/* SPDX-License-Identifier: Apache-2.0 */
/* One call of gpufl_upload_logs(), and the opening of its parts. */
#ifndef GPUFL_UPLOAD_UPLOAD_OPEN_H
#define GPUFL_UPLOAD_UPLOAD_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "upload/engine/engine.h"
#include "upload/http/transport.h"
#include "upload/journal/journal_read.h"
#include "upload/source/select.h"
#include "upload/upload_options.h"

/** How long sessions of others are waited for of which nothing comes. */
#define UPLOAD_OTHERS_WAIT_MS 5000u

/** One call. */
struct upload {
    struct gpufl_upload_options options;
    const char *(*name)(const char *field); /**< what the user calls them */
    struct gpufl_upload_result *result;
    struct selection selection;
    struct log log;
    struct transport transport;
    struct origin_identity backend;
    struct engine *engine;
    int root;
    uint64_t start_ms;
    uint64_t deadline_ms;
    uint64_t told_ms;
    uint64_t bytes_total;
    bool over;        /**< the time limit was reached */
    char others[256]; /**< sessions of others that are waited for no longer, "" = none */
    uint64_t others_since_ms; /**< only others have something left, and nothing of that
                                 was settled since */
    uint64_t others_progress;
};

/* Where one of these fails, u->result says why, except for upload_open_engine(). */

/** Opens the directory of the options, or the one that a path to `<directory>.log` means.
 */
GPUFL_MUST gpufl_status upload_open_root(struct upload *u);

/** Lists the sessions in it and chooses those that the options name. */
GPUFL_MUST gpufl_status upload_open_sessions(struct upload *u);

/** Examines the state directory that the options name, and makes nothing. */
GPUFL_MUST gpufl_status upload_try_state(struct upload *u);

/** Reads this user's journal of the log directory; journal_read_fini() frees it in any
 * case. \return false if there is none. */
bool upload_journal_open(const struct upload *u, struct journal_read *out);

/** \return true if all sessions are to be sent and the journal knows one that is not
 * complete, which may be the case where there are none. */
bool upload_knows_unfinished(const struct upload *u);

/** \return true if the journal knows any session of the directory. */
bool upload_knows_any(const struct upload *u);

/** Prepares the connection; the caller closes u->transport. */
GPUFL_MUST gpufl_status upload_open_transport(struct upload *u);

/** Opens the engine on the directory; the caller closes u->engine. \return GPUFL_BUSY
 * where another uploader serves the directory; \p why says what is the matter. */
GPUFL_MUST gpufl_status upload_open_engine(struct upload *u, char why[512]);

/** Closes u->engine, if it is open. */
void upload_close_engine(struct upload *u);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the files of sessions with what a backend that knows positions has of them,
 * and changes nothing, here or there. */
#ifndef GPUFL_UPLOAD_VERIFY_VERIFY_H
#define GPUFL_UPLOAD_VERIFY_VERIFY_H

#include "upload/verify/verify_files.h"

/** More channels than are followed, as the backend may name others. */
#define VERIFY_STREAMS_MAX 72u

struct verify_session {
    enum verify_state {
        VERIFY_OPEN,     /**< nobody has told the backend that it is complete */
        VERIFY_COMPLETE, /**< the backend takes it for complete */
        VERIFY_ENDED,    /**< likewise, but for lines that it knows to be missing */
    } state;
    unsigned unread;  /**< files that may hold records and are not read */
    bool unlisted;    /**< which channels it has is not known: its manifest is there and
                           cannot be read, and the backend does not take the session for
                           complete */
    bool loss;        /**< its recorder dropped lines: it never becomes complete */
    bool unpublished; /**< layout of 1.3: its writer's `.tmp` is there */
    unsigned count;
    struct verify_stream stream[VERIFY_STREAMS_MAX];
};

/** \return GPUFL_OK if the backend knows positions; GPUFL_ERR_CONTACT, GPUFL_ERR_AUTH,
 * GPUFL_ERR_USAGE (it does not know them), GPUFL_ERR_NOMEM, with v->why. */
GPUFL_MUST gpufl_status verify_backend(struct verify *v);

/** \return likewise, whether it takes the key, where no session is there to ask for. */
GPUFL_MUST gpufl_status verify_key(struct verify *v);

/** Compares a session. Its files may grow meanwhile: the backend is asked first. If files
 * were renamed or deleted meanwhile, what does not compare is looked at again. \return
 * GPUFL_OK; GPUFL_ERR_CONTACT, GPUFL_ERR_AUTH or GPUFL_ERR_NOMEM if the backend was not
 * asked, GPUFL_ERR_IO if the directory cannot be read, with v->why. */
GPUFL_MUST gpufl_status verify_session(struct verify *v, const struct selected *selected,
                                       struct verify_session *out);

/** \return true if all channels are equal, there is one, and nothing else is there. */
bool verify_is_equal(const struct verify_session *session);

/** \return true if positions of all its channels keep lines from being stored twice. */
bool verify_has_positions(const struct verify_session *session);

/** \return true if an upload would send what the backend lacks: lines, or, where it has
 * all of them, that this is the end. */
bool verify_can_resend(const struct verify_session *session);

#endif

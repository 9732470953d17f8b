/* SPDX-License-Identifier: Apache-2.0 */
/* Tells from an answer whether a backend takes the key, without storing anything: asked
 * by GET where batches go, which changes nothing, and where that says too little by a
 * POST of a batch of nothing. */
#ifndef GPUFL_UPLOAD_HTTP_KEY_CHECK_H
#define GPUFL_UPLOAD_HTTP_KEY_CHECK_H

#include "upload/http/transport.h"

enum key_check {
    KEY_TAKEN,
    KEY_REFUSED, /**< 401 or 403 */
    KEY_UNSURE,  /**< a server that does not know GET there, or nothing at all: POST */
    KEY_LATER,   /**< no answer, or it is busy */
    KEY_MOVED,   /**< a redirect */
    KEY_NOWHERE, /**< no backend answers there */
};

/** For the answer to a TRANSPORT_KEY or to an empty TRANSPORT_BATCH. \p declared: it has
 * said what it supports, so that a 405 is its own and not that of a gateway. */
enum key_check key_check_of(enum transport_kind kind, const struct transport_reply *reply,
                            bool declared);

#define KEY_CHECK_SAYS_401 "the backend refused the API key"
#define KEY_CHECK_SAYS_403                                                               \
    "the backend, or something in front of it, refused the request or the API key"

/** What a 401 or 403 says, NULL for another status. 403 does not tell what it is about,
 * nor who said it. */
const char *key_check_says(int status);

#endif

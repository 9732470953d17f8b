/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its reply, for those who wait for it. */
#ifndef GPUFL_UPLOAD_HTTP_TRANSPORT_ASK_H
#define GPUFL_UPLOAD_HTTP_TRANSPORT_ASK_H

#include "upload/http/transport.h"

/** Submits \p request and waits for its reply, which comes at the latest when the
 * transport's own time limits are over. \return GPUFL_OK with *reply, whose body is
 * borrowed until the next call; GPUFL_ERR_NOMEM. */
GPUFL_MUST gpufl_status transport_ask(const struct transport *transport,
                                      const struct transport_request *request,
                                      struct transport_reply *reply);

#endif

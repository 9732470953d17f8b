/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers a request's body up to the limit. */
#include "backend/http/body.h"

#include "schema/protocol.h"

void body_take(struct body *in, const char *data, size_t len)
{
    if (in->unwanted) {
        return;
    }
    in->too_large = in->too_large || in->bytes.len + len > PROTOCOL_MAX_BODY_BYTES;
    if (!in->too_large) {
        text_append(&in->bytes, data, len);
        in->too_large = in->bytes.failed;
    }
}

void body_fini(struct body *body)
{
    read_ahead_end(&body->ahead);
    text_fini(&body->bytes);
    *body = (struct body){0};
}

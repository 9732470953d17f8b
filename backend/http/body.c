/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers a request's body up to the limit. */
#include "backend/http/body.h"

#include <stdlib.h>
#include <string.h>

#include "schema/protocol.h"

void body_take(struct body *in, const char *data, size_t len)
{
    if (in->too_large || in->len + len > PROTOCOL_MAX_BODY_BYTES) {
        in->too_large = true; /* read to its end, kept no more */
        return;
    }
    if (in->cap - in->len < len) {
        size_t cap = in->cap ? in->cap : 65536;
        while (cap - in->len < len) {
            cap *= 2;
        }
        char *grown = realloc(in->data, cap);
        if (!grown) {
            in->too_large = true;
            return;
        }
        in->data = grown;
        in->cap = cap;
    }
    memcpy(in->data + in->len, data, len);
    in->len += len;
}

void body_fini(struct body *body)
{
    free(body->data);
    *body = (struct body){0};
}

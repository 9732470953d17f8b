/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the answer to a question about the key to what it means. */
#include "upload/http/key_check.h"

#include <stddef.h>

enum key_check key_check_of(enum transport_kind kind, const struct transport_reply *reply,
                            bool declared)
{
    int status = reply->status;
    bool absent = status == 404 || status == 501;
    if (status == 401 || status == 403) {
        return KEY_REFUSED;
    }
    if (status == 0 || status == 408 || status == 425 || status == 429 ||
        (status >= 500 && status != 501)) {
        return KEY_LATER;
    }
    if (status >= 300 && status < 400) {
        return KEY_MOVED;
    }
    if (kind == TRANSPORT_KEY) {
        /* 405 is what the one path answers that takes POST alone. */
        bool unsure = status == 405 ? !declared : absent || reply->web_page;
        return unsure ? KEY_UNSURE : KEY_TAKEN;
    }
    return absent || status == 405 || reply->web_page ? KEY_NOWHERE : KEY_TAKEN;
}

const char *key_check_says(int status)
{
    return status == 401 ? KEY_CHECK_SAYS_401 : status == 403 ? KEY_CHECK_SAYS_403 : NULL;
}

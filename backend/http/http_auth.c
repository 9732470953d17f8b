/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the key of a request with ours: as a bearer token, or as the password that a
 * browser asks for. */
#include "backend/http/http_auth.h"

#include <string.h>

/* Takes the same time for wrong and right keys of the same length. */
static bool is_same_key(const char *given, const char *key)
{
    size_t given_len = strlen(given);
    size_t key_len = strlen(key);
    volatile unsigned char difference = given_len != key_len;
    for (size_t i = 0; i < given_len; i++) {
        difference |= (unsigned char)given[i] ^ (unsigned char)key[i % (key_len + 1)];
    }
    return difference == 0;
}

bool http_auth_allows(struct MHD_Connection *c, const char *api_key)
{
    if (!api_key) {
        return true;
    }
    const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    if (given && strncmp(given, "Bearer ", 7) == 0) {
        return is_same_key(given + 7, api_key);
    }
    char *password = NULL;
    char *user = MHD_basic_auth_get_username_password(c, &password);
    bool ok = user && password && is_same_key(password, api_key);
    MHD_free(user);
    MHD_free(password);
    return ok;
}

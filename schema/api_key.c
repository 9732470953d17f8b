/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the ends of a key, where copying goes wrong. */
#include "schema/api_key.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool has_control(const char *key)
{
    for (; *key; key++) {
        if ((unsigned char)*key < 0x20 || *key == 0x7f) {
            return true;
        }
    }
    return false;
}

const char *api_key_fault(const char *key)
{
    static const char bearer[] = "Bearer ";
    size_t len = strlen(key);
    char first = key[0];
    if (has_control(key)) {
        return "contains a control character (copy the key again)";
    }
    if (len && (first == ' ' || key[len - 1] == ' ')) {
        return "begins or ends with a blank (copy the key again)";
    }
    if (len > 1 && (first == '"' || first == '\'') && key[len - 1] == first) {
        return "is in quotes (leave them out)";
    }
    if (strncasecmp(key, bearer, sizeof bearer - 1) == 0) {
        return "begins with 'Bearer' (give the key alone)";
    }
    if (strncmp(key, "\xef\xbb\xbf", 3) == 0) {
        return "begins with a byte order mark (save it without one)";
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the words that mean "on". */
#include "base/parse_bool.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

bool parse_bool(const char *value)
{
    static const char *const words[] = {"1", "true", "yes", "on"};
    while (value && isspace((unsigned char)*value)) {
        value++;
    }
    size_t len = value ? strlen(value) : 0;
    while (len > 0 && isspace((unsigned char)value[len - 1])) {
        len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == len && strncasecmp(value, words[i], len) == 0) {
            return true;
        }
    }
    return false;
}

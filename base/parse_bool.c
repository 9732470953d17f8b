/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the words that mean "on" and "off". */
#include "base/parse_bool.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

bool parse_switch(const char *text, bool *out)
{
    static const char *const words[] = {"0",  "1",   "false", "true",
                                        "no", "yes", "off",   "on"};
    while (text && isspace((unsigned char)*text)) {
        text++;
    }
    size_t len = text ? strlen(text) : 0;
    while (len > 0 && isspace((unsigned char)text[len - 1])) {
        len--;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == len && strncasecmp(text, words[i], len) == 0) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

bool parse_bool(const char *text)
{
    bool on;
    return parse_switch(text, &on) && on;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Choices as people write them. */
#include "agent/option_value.h"

#include <string.h>

bool option_parse_choice(const char *text, const char *choices, int *out)
{
    size_t len = strlen(text);
    int value = 0;
    for (const char *at = choices; len; value++) {
        size_t n = strcspn(at, "|");
        if (n == len && strncmp(at, text, n) == 0) {
            *out = value;
            return true;
        }
        if (!at[n]) {
            break;
        }
        at += n + 1;
    }
    return false;
}

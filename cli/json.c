/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes what JSON asks to escape. */
#include "cli/json.h"

#include <stdio.h>

void json_print(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < 0x20) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's configuration file of any bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector-lib/core/flat_json.h"

static void use(void *arg, const char *key, enum flat_json_kind kind, const char *value)
{
    size_t *seen = arg;
    (void)kind;
    *seen += strlen(key) + strlen(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t seen = 0;
    struct flat_json_place stopped;
    char *text = malloc(size + 1);
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        (void)flat_json_parse(text, size, use, &seen, &stopped);
        free(text);
    }
    return 0;
}

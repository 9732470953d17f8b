/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of any bytes at the backend: decoded within the cap, then read as lines. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/digest/lines.h"
#include "backend/store/codec.h"

#define CAP (1u << 20)

/* What follows the first frame decodes to what follows its bytes. */
static void check_first_frame(enum encoding encoding, const uint8_t *body, size_t size,
                              const char *raw, size_t len)
{
    const char *newline = len ? memchr(raw, '\n', len) : NULL;
    size_t list = newline ? (size_t)(newline + 1 - raw) : len;
    size_t head = codec_first_frame(encoding, body, size, list);
    char *rest;
    size_t rest_len;
    if (head == 0 || head == size) {
        return;
    }
    if (head > size ||
        codec_decode(encoding, body + head, size - head, CAP, &rest, &rest_len) !=
            GPUFL_OK ||
        rest_len != len - list || (rest_len && memcmp(rest, raw + list, rest_len) != 0)) {
        __builtin_trap();
    }
    free(rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *raw;
    size_t len;
    struct lines lines;
    enum encoding encoding = (enum encoding)(data[0] % 3);
    if (codec_decode(encoding, data + 1, size - 1, CAP, &raw, &len) == GPUFL_OK) {
        if (len > CAP) {
            __builtin_trap();
        }
        if (lines_read(raw, len, "s", &lines)) {
            if (lines.kept_len > len + 1) {
                __builtin_trap();
            }
            lines_fini(&lines);
        }
        check_first_frame(encoding, data + 1, size - 1, raw, len);
        free(raw);
    }
    return 0;
}

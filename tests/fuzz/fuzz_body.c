/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of any bytes at the backend: decoded within the cap, then read as lines. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "backend/digest/lines.h"
#include "backend/store/codec.h"

#define CAP (1u << 20)

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
        free(raw);
    }
    return 0;
}

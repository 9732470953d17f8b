/* SPDX-License-Identifier: Apache-2.0 */
/* A list of subordinate ids and, behind a NUL, one of accounts, of any bytes: ranges are
 * in order, and each is found by its ids. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "upload/owners/subordinate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct subordinate_ranges ranges;
    const char *text = (const char *)data;
    const char *nul = size ? memchr(text, '\0', size) : NULL;
    size_t len = nul ? (size_t)(nul - text) : size;
    subordinate_read(text, len, text + len, size - len, &ranges);
    for (size_t i = 0; i < ranges.count; i++) {
        const struct subordinate_range *range = &ranges.range[i];
        if (range->last < range->first || range->last == UINT32_MAX ||
            (i > 0 && range->first <= range[-1].last) ||
            subordinate_find(&ranges, range->first) != range ||
            subordinate_find(&ranges, range->last) != range) {
            __builtin_trap();
        }
    }
    (void)subordinate_find(&ranges, 0);
    (void)subordinate_find(&ranges, UINT32_MAX);
    subordinate_free(&ranges);
    return 0;
}

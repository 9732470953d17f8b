/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of parts and claims of any bytes: what is read lies within the request. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/http/positions_read.h"
#include "schema/layout.h"
#include "schema/protocol.h"

static void check_parts(const struct positions_parts *parts, const char *raw, size_t len)
{
    size_t at = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const struct stream_part *p = &parts->part[i];
        if (!layout_name_ok(p->session) || !layout_channel_ok(p->channel) ||
            p->begin.file == 0 || p->end.offset < stream_part_from(p) ||
            (!p->skip && (p->bytes != raw + at || p->len > len - at))) {
            __builtin_trap();
        }
        at += p->len;
        volatile bool fits = positions_fit(p);
        (void)fits;
    }
    if (at != len) {
        __builtin_trap();
    }
}

static void fuzz_parts(const char *data, size_t size)
{
    struct positions_parts parts;
    const char *newline = size ? memchr(data, '\n', size) : NULL;
    size_t line = newline ? (size_t)(newline - data) : size;
    if (positions_read_parts(data, line, &parts)) {
        return;
    }
    if (parts.count == 0 || parts.count > PROTOCOL_MAX_PARTS) {
        __builtin_trap();
    }
    const char *raw = newline ? newline + 1 : data + size;
    size_t len = (size_t)(data + size - raw);
    if (positions_give_bytes(&parts, raw, len)) {
        check_parts(&parts, raw, len);
    }
    positions_parts_fini(&parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_claim claim = {.session = "s"};
    fuzz_parts((const char *)data, size);
    if (!positions_read_claim((const char *)data, size, &claim)) {
        for (size_t i = 0; i < claim.channels; i++) {
            if (!layout_channel_ok(claim.channel[i].channel)) {
                __builtin_trap();
            }
        }
    }
    free((void *)(uintptr_t)claim.channel);
    return 0;
}

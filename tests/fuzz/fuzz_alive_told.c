/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sessions that are alive, of any bytes: what is read can be stored. */
#include <stddef.h>
#include <stdint.h>

#include "backend/http/alive_told.h"
#include "schema/layout.h"
#include "schema/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alive_told told;
    const char *fault = alive_told_read((const char *)data, size, &told);
    if (fault ? told.count != 0 || told.session
              : told.count == 0 || told.count > PROTOCOL_MAX_ALIVE) {
        __builtin_trap();
    }
    for (size_t i = 0; i < told.count; i++) {
        if (!layout_name_ok(told.session[i].session) || told.session[i].silent_ms < 0 ||
            told.session[i].silent_ms > PROTOCOL_MAX_OFFSET) {
            __builtin_trap();
        }
    }
    alive_told_fini(&told);
    return 0;
}

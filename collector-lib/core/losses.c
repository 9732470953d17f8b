/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the counters of losses. */
#include "collector-lib/core/losses.h"

#include <inttypes.h>

static const struct {
    const char *key;
    const char *text;
} kinds[LOSS_KINDS] = {
#define LOSS_NAMES_(kind, key, text) [kind] = {key, text},
    LOSSES(LOSS_NAMES_)};

void losses_json(const struct losses *losses, struct text *out)
{
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        text_printf(out, "%s\"%s\":%" PRIu64, kind ? "," : "{", kinds[kind].key,
                    losses->count[kind]);
    }
    text_puts(out, "}");
}

void losses_lines(const struct losses *losses, const char *before, struct text *out)
{
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        if (losses->count[kind]) {
            text_printf(out, "%s%" PRIu64 " %s\n", before, losses->count[kind],
                        kinds[kind].text);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the counters of losses. */
#include "collector-lib/writer/losses_text.h"

#include <inttypes.h>

void losses_json(const struct losses *losses, struct text *out)
{
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        text_printf(out, "%s\"%s\":%" PRIu64, kind ? "," : "{",
                    losses_key((enum loss)kind), losses->count[kind]);
    }
    text_puts(out, "}");
}

void losses_lines(const struct losses *losses, const char *before, struct text *out)
{
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        if (losses->count[kind]) {
            text_printf(out, "%s%" PRIu64 " %s\n", before, losses->count[kind],
                        losses_what((enum loss)kind));
        }
    }
}

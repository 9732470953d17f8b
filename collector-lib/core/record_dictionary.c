/* SPDX-License-Identifier: Apache-2.0 */
/* Formats dictionary_update records. */
#include "collector-lib/core/record_dictionary.h"

#include <stdbool.h>

#include "schema/records.h"

/* The next id behind \p id that has a text; 0 = no more. */
static uint32_t next_text(const struct dictionary_part *part, uint32_t id)
{
    while (id < part->to) {
        if (part->text[++id]) {
            return id;
        }
    }
    return 0;
}

void record_dictionary(struct text *out, const struct record_context *context,
                       const struct dictionary_part *part, size_t parts)
{
    bool any = false;
    for (size_t i = 0; i < parts; i++) {
        uint32_t id = next_text(&part[i], part[i].from);
        if (!id) {
            continue;
        }
        if (!any) {
            record_begin(out, context, 1, RECORD_DICTIONARY);
            any = true;
        }
        text_printf(out, ",\"%s\":{", part[i].key);
        for (const char *before = ""; id; id = next_text(&part[i], id), before = ",") {
            text_printf(out, "%s\"%u\":", before, id);
            text_json_string(out, part[i].text[id]);
        }
        text_puts(out, "}");
    }
    if (any) {
        text_puts(out, "}\n");
    }
}

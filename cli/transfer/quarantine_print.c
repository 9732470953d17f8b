/* SPDX-License-Identifier: Apache-2.0 */
/* Shows one quarantined range as JSON or as a line. */
#include "cli/transfer/quarantine_print.h"
#include "base/plural.h"

#include <inttypes.h>

void quarantine_print_json(struct text *out, const struct quarantined *range)
{
    const struct record_quarantine *r = &range->record;
    text_printf(out, "{\"name\":\"%s\",\"path\":", range->name);
    text_json_string(out, range->path);
    text_puts(out, ",\"channel\":");
    text_json_string(out, range->channel);
    text_printf(out,
                ",\"file\":%u,\"begin\":%" PRIu64 ",\"end\":%" PRIu64
                ",\"lines\":%u,\"status\":%d,\"reason\":",
                r->file, r->begin, r->end, r->lines, r->status);
    text_json_string(out, r->reason);
    text_puts(out, "}");
}

void quarantine_print_line(struct text *out, const struct quarantined *range)
{
    const struct record_quarantine *r = &range->record;
    text_printf(out, "%s  %s %s file %u bytes %" PRIu64 "-%" PRIu64 ", %u %s: %s",
                range->name, range->path, range->channel, r->file, r->begin, r->end,
                r->lines, plural(r->lines, "line", "lines"), r->reason);
}

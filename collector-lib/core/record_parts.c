/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the fields that several records share. */
#include "collector-lib/core/record_parts.h"

void record_who(struct text *out, const struct record_context *context)
{
    text_printf(out, "\"pid\":%d,\"app\":", context->pid);
    text_json_string(out, context->app);
    text_printf(out, ",\"session_id\":\"%s\"", context->session_id);
}

void record_begin(struct text *out, const struct record_context *context, int version,
                  const char *type)
{
    text_printf(out, "{\"version\":%d,\"type\":\"%s\",\"session_id\":\"%s\"", version,
                type, context->session_id);
}

void record_open_rows(struct text *out, const struct record_context *context,
                      uint64_t batch_id, int64_t base_mono_ns, const char *columns)
{
    text_puts(out, ",\"batch_id\":");
    text_u64(out, batch_id);
    text_puts(out, ",\"base_time_ns\":");
    text_i64(out, base_mono_ns + context->anchor_ns);
    text_puts(out, ",\"columns\":");
    text_puts(out, columns);
    text_puts(out, ",\"rows\":[");
}

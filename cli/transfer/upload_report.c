/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the progress and the result of an upload. */
#include "cli/transfer/upload_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/plural.h"
#include "base/text.h"

#define BAR_WIDTH 30

void upload_report_progress(void *arg, const struct gpufl_upload_progress *p)
{
    (void)arg;
    char bar[BAR_WIDTH + 1];
    uint64_t part = p->bytes_total ? p->bytes_uploaded * BAR_WIDTH / p->bytes_total : 0;
    size_t full = part > BAR_WIDTH ? BAR_WIDTH : (size_t)part;
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_WIDTH - full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %.1f of %.1f MiB, %" PRIu64 " %s, %u of %u %s ", bar,
            (double)p->bytes_uploaded / 1048576, (double)p->bytes_total / 1048576,
            p->lines_uploaded, plural(p->lines_uploaded, "line", "lines"),
            p->sessions_complete, p->sessions,
            plural(p->sessions, "session", "sessions"));
    fflush(stderr);
}

void upload_report_line(gpufl_status status, const struct gpufl_upload_result *r)
{
    if (status != GPUFL_OK) {
        message_line("gpufl upload", "%s", r->message);
        return;
    }
    char ended[64] = "";
    if (r->sessions_ended) {
        snprintf(ended, sizeof ended, ", %u ended with lines missing", r->sessions_ended);
    }
    printf("gpufl upload: %s: %" PRIu64 " %s, %u of %u %s complete%s, %.1f s\n",
           r->message, r->events_uploaded, plural(r->events_uploaded, "line", "lines"),
           r->sessions_complete, r->sessions, plural(r->sessions, "session", "sessions"),
           ended, (double)r->elapsed_ms / 1000);
}

static void put_result(gpufl_status status, const struct gpufl_upload_result *r,
                       struct text *out)
{
    text_printf(out, "{\"success\":%s,\"status\":\"%s\",\"message\":",
                r->success ? "true" : "false", gpufl_status_text(status));
    text_json_string(out, r->message);
    text_printf(out,
                ",\"sessions\":%u,\"sessions_complete\":%u,\"sessions_live\":%u,"
                "\"sessions_away\":%u,\"sessions_lossy\":%u,\"sessions_ended\":%u,"
                "\"files_processed\":%zu,\"files_skipped_by_cursor\":%zu,"
                "\"events_uploaded\":%" PRIu64 ",\"bytes_uploaded\":%" PRIu64
                ",\"lines_rejected\":%" PRIu64 ",\"lines_refused\":%" PRIu64
                ",\"ranges_quarantined\":%" PRIu64
                ",\"http_status\":%d,\"elapsed_ms\":%" PRId64 ",\"warnings\":[",
                r->sessions, r->sessions_complete, r->sessions_live, r->sessions_away,
                r->sessions_lossy, r->sessions_ended, r->files_processed,
                r->files_skipped_by_cursor, r->events_uploaded, r->bytes_uploaded,
                r->lines_rejected, r->lines_refused, r->ranges_quarantined,
                r->http_status, r->elapsed_ms);
    for (unsigned i = 0; i < r->warning_count && i < GPUFL_UPLOAD_WARNINGS_MAX; i++) {
        text_puts(out, i ? "," : "");
        text_json_string(out, r->warnings[i]);
    }
    text_puts(out, "]}\n");
}

void upload_report_json(gpufl_status status, const struct gpufl_upload_result *result)
{
    struct text out = {0};
    put_result(status, result, &out);
    fwrite(out.data, 1, out.failed ? 0 : out.len, stdout);
    text_fini(&out);
}

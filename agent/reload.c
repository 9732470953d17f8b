/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/reload.h"

#include <stdio.h>
#include <string.h>

#include "agent/option_table.h"

static size_t size_of(enum option_kind kind)
{
    switch (kind) {
    case KIND_COUNT:
    case KIND_DURATION:
        return sizeof(uint64_t);
    case KIND_CHOICE:
        return sizeof(int);
    case KIND_SWITCH:
        return sizeof(bool);
    case KIND_TEXT:
    case KIND_REFUSED:
    case KIND_KAFKA:
    case KIND_IGNORED:
        break;
    }
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* What a running agent takes over. */
static bool reloads(const char *flag)
{
    static const char *const name[] = {"flush-interval", "max-requests-per-second",
                                       "drain-timeout", "log-level", "log-format"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        if (strcmp(flag, name[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool differs(const struct option_row *row, const void *a, const void *b)
{
    if (row->kind == KIND_TEXT) {
        /* The key was wiped where it stood; its file is read again by itself. */
        return row->at != offsetof(struct options, token) &&
               !same_text(*(char *const *)a, *(char *const *)b);
    }
    return memcmp(a, b, size_of(row->kind)) != 0;
}

gpufl_status reload_options(int argc, char **argv, struct options *options,
                            char kept[512], char why[512])
{
    struct options fresh;
    gpufl_status status = options_read(argc, argv, &fresh, why);
    size_t used = 0;
    kept[0] = '\0';
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        char *now = (char *)options + row->at;
        const char *then = (const char *)&fresh + row->at;
        if (row->kind >= KIND_REFUSED || !differs(row, now, then)) {
            continue;
        }
        if (reloads(row->flag)) {
            memcpy(now, then, size_of(row->kind));
        } else if (used + strlen(row->flag) + 2 < 512) {
            used += (size_t)snprintf(kept + used, 512 - used, "%s%s", used ? " " : "",
                                     row->flag);
        }
    }
    options_fini(&fresh);
    return status;
}

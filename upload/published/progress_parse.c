/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the lines of the progress files. */
#include "upload/published/progress_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema/layout.h"
#include "upload/http/reply.h"
#include "upload/source/scan.h"

#define ASIDE "!aside "

/* `[group/]id`. */
static bool progress_is_path(const char *text)
{
    char group[JOURNAL_PATH_MAX];
    const char *slash = strchr(text, '/');
    if (!slash) {
        return layout_name_ok(text);
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - text), text);
    return layout_name_ok(group) && layout_name_ok(slash + 1);
}

static void progress_parse_directory(const char *told, struct directory_id *out)
{
    struct directory_id id = {0};
    unsigned own = 0;
    if (sscanf(told,
               PROGRESS_DIRECTORY "%16" SCNx64 ":%8" SCNx32 ":%" SCNu32 ":%8" SCNx32
                                  ":%u",
               &id.mark, &id.boot, &id.user, &id.above, &own) == 5) {
        id.above_own = own != 0;
        *out = id;
    }
}

static void progress_parse_mark(const char *word, struct record_mark *out)
{
    struct record_mark mark;
    if (word && sscanf(word, PROGRESS_MARK "%" SCNu32 ":%" SCNx32, &mark.bytes,
                       &mark.crc32) == 2) {
        *out = mark;
    }
}

/* Of the stream that the next line names. Later versions may tell more. */
static bool progress_parse_figures(const char *line, struct progress_line *next)
{
    static const char done[] = " done";
    int end = 0;
    bool parsed = sscanf(line,
                         "!lines %" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu32 " %" SCNu32
                         " %" SCNu32 "%n",
                         &next->lines, &next->refused_lines, &next->losses, &next->layout,
                         &next->marks, &next->outcome, &end) == 6 &&
                  (!line[end] || line[end] == ' ') && next->marks <= UINT8_MAX &&
                  next->layout <= 1 + SESSION_SHIFTING && next->outcome <= SESSION_MARKED;
    next->told = next->told || parsed;
    next->complete =
        next->complete || (parsed && strncmp(line + end, done, sizeof done - 1) == 0);
    const char *quarantined = parsed ? strstr(line + end, PROGRESS_QUARANTINED) : NULL;
    if (quarantined) {
        (void)sscanf(quarantined, PROGRESS_QUARANTINED "%" SCNu32, &next->quarantined);
    }
    const char *reached = parsed ? strstr(line + end, PROGRESS_REACHED) : NULL;
    if (reached) {
        (void)sscanf(reached, PROGRESS_REACHED "%" SCNu32 ":%" SCNu64,
                     &next->reached_file, &next->reached_offset);
    }
    const char *seen = parsed ? strstr(line + end, PROGRESS_SEEN) : NULL;
    if (seen) {
        next->tells_stamp = sscanf(seen, PROGRESS_SEEN "%" SCNx32, &next->stamp) == 1;
        next->ends = strstr(seen, PROGRESS_ENDS) != NULL;
    }
    const char *directory = parsed ? strstr(line + end, PROGRESS_DIRECTORY) : NULL;
    if (directory) {
        progress_parse_directory(directory, &next->directory);
    }
    const char *epoch = parsed ? strstr(line + end, PROGRESS_EPOCH) : NULL;
    if (epoch) {
        (void)sscanf(epoch, PROGRESS_EPOCH "%" SCNx64, &next->epoch);
    }
    progress_parse_mark(parsed ? strstr(line + end, PROGRESS_MARK) : NULL, &next->mark);
    return parsed;
}

static bool progress_parse_line(const char *line, struct progress_line *out)
{
    char path[JOURNAL_PATH_MAX + 1];
    char channel[LAYOUT_CHANNEL_MAX + 2];
    int end = 0;
    if (sscanf(line, "%258s %32s %" SCNu32 " %" SCNu64 " %" SCNu32 " %" SCNu32 "%n", path,
               channel, &out->file, &out->offset, &out->sequence, &out->kind,
               &end) != 6 ||
        line[end] || strlen(path) >= sizeof out->path || !layout_channel_ok(channel) ||
        out->file == 0 || out->kind > STREAM_VERBATIM) {
        return false;
    }
    if (!progress_is_path(path)) {
        return false;
    }
    memcpy(out->path, path, strlen(path) + 1);
    memcpy(out->channel, channel, strlen(channel) + 1);
    return true;
}

void progress_parse(const char *text, size_t len, struct progress_line *next,
                    void (*visit)(void *arg, const struct progress_line *line), void *arg)
{
    const struct progress_line untold = {.complete = next->complete};
    char line[PROGRESS_LINE_BYTES];
    const char *at = text;
    while (at < text + len) {
        const char *end = memchr(at, '\n', (size_t)(text + len - at));
        if (!end) {
            return; /* incomplete */
        }
        size_t n = (size_t)(end - at) < sizeof line ? (size_t)(end - at) : 0;
        memcpy(line, at, n);
        line[n] = '\0';
        bool figures = progress_parse_figures(line, next);
        if (!figures && progress_parse_line(line, next)) {
            visit(arg, next);
        }
        if (!figures) {
            *next = untold;
        }
        at = end + 1;
    }
}

/* Tells whose the directory of the holds is that follow. */
static bool progress_parse_owner(const char *line, struct progress_note *out)
{
    *out = (struct progress_note){0};
    out->owned = sscanf(line, "!owner %257s %" SCNu32, out->path, &out->owner) == 2 &&
                 progress_is_path(out->path);
    return out->owned;
}

bool progress_parse_note(const char *line, struct progress_note *out)
{
    struct progress_note before = *out;
    int end = 0;
    if (progress_parse_owner(line, out)) {
        return false;
    }
    if (sscanf(line, "!more %u", &out->more) == 1) {
        return out->more > 0;
    }
    if (sscanf(line, "!waits %" SCNu32 " %u", &out->owner, &out->waits) == 2) {
        out->owned = out->waits > 0;
        return out->owned;
    }
    if (strncmp(line, ASIDE, strlen(ASIDE)) == 0) {
        const char *what = line + strlen(ASIDE);
        reply_excerpt(what, strlen(what), out->text, sizeof out->text);
        out->aside = true;
        return true;
    }
    if (sscanf(line, "!trouble %" SCNd64 " %n", &out->since_s, &end) != 1 || !end) {
        end = 0;
        out->since_s = 0;
        if (sscanf(line, "!held %257s %31s %n", out->path, out->channel, &end) != 2 ||
            !end || !progress_is_path(out->path) ||
            (strcmp(out->channel, "*") != 0 && !layout_channel_ok(out->channel))) {
            return false;
        }
    }
    out->owned = before.owned && strcmp(before.path, out->path) == 0;
    out->owner = out->owned ? before.owner : 0;
    reply_excerpt(line + end, strlen(line + end), out->text, sizeof out->text);
    return out->since_s != 0 || out->path[0];
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Names count as written for a channel when they are in its file. */
#include "collector-lib/writer/writer_append.h"

#include <errno.h>
#include <string.h>

#include "collector-lib/core/clock.h"
#include "collector-lib/core/record_dictionary.h"
#include "collector-lib/files/files_thread.h"
#include "collector-lib/writer/file_names.h"
#include "collector-lib/writer/session_records.h"
#include "schema/records.h"

static void count_lost(struct writer *w, enum channel channel, const char *lines,
                       size_t len)
{
    row_counts_add(&w->summary.unwritten, lines, len);
    uint64_t lost =
        spool_lost(&w->spool, lines, len, clock_mono_ns() + w->context.anchor_ns);
    atomic_fetch_add_explicit(&w->lines_lost[channel], lost, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->bytes_lost, len, memory_order_relaxed);
}

struct append {
    struct writer *w;
    enum channel channel;
    const struct text *text;
    size_t kept;
};

static void append_to_file(void *arg)
{
    struct append *a = arg;
    struct writer *w = a->w;
    a->kept = session_dir_append(w->dir, a->channel, a->text->data, a->text->len);
    if (a->kept < a->text->len) {
        int reason = errno;
        int64_t now_ns = clock_mono_ns();
        if (spool_fail(&w->spool, channel_name(a->channel), reason, now_ns,
                       now_ns + w->context.anchor_ns)) {
            memset(w->resumed, 0, sizeof w->resumed);
            memset(w->has_opening, 0, sizeof w->has_opening);
        }
    }
}

/* Whatever the pause. */
static size_t append_now(struct writer *w, enum channel channel, const struct text *text)
{
    struct append a = {w, channel, text, 0};
    files_thread_do(append_to_file, &a);
    file_names_follow(w, channel);
    spool_wrote(&w->spool, a.kept);
    atomic_fetch_add_explicit(&w->bytes_written, a.kept, memory_order_relaxed);
    return a.kept;
}

/* Out of memory while they were formatted: the session goes on. */
static bool lines_failed(struct writer *w, enum channel channel, const struct text *text)
{
    if (text->failed) {
        atomic_fetch_add_explicit(&w->lines_lost[channel], 1, memory_order_relaxed);
    }
    return text->failed;
}

/* Puts the names that the lines use, and the file in which they will be does not have, in
 * front of them. \return how many bytes they are; 0 = none, and nothing was copied. */
static size_t format_lacking(struct writer *w, enum channel channel,
                             const struct text *text)
{
    struct text *all = &w->names_text;
    file_names_follow(w, channel);
    text_clear(all);
    file_names_lacking(w, channel, false, all);
    if (session_dir_rotates_for(w->dir, channel, all->len + text->len)) {
        text_clear(all);
        file_names_lacking(w, channel, true, all);
    }
    size_t names = all->len;
    if (names) {
        text_join(all, text);
    }
    return all->failed ? 0 : names;
}

static size_t append_with_names(struct writer *w, enum channel channel,
                                const struct text *text)
{
    size_t names = format_lacking(w, channel, text);
    size_t kept = append_now(w, channel, names ? &w->names_text : text);
    if (names && kept >= names) {
        file_names_note_lacking(w, channel);
    }
    return kept > names ? kept - names : 0;
}

/* \return how many of the bytes behind \p at are whole lines, and fewer than \p most, or
 * one line. */
static size_t lines_within(const struct text *text, size_t at, size_t most)
{
    const char *from = text->data + at;
    size_t left = text->len - at;
    const char *end = left > most ? memrchr(from, '\n', most) : from + left - 1;
    end = end ? end : memchr(from, '\n', left);
    return end ? (size_t)(end - from) + 1 : left;
}

/* A file may be allowed to have fewer bytes than are written at once: half of it for the
 * lines, and the other one for names. */
static size_t append_in_parts(struct writer *w, enum channel channel,
                              const struct text *text)
{
    uint64_t limit = channel_file_limit();
    size_t most = limit < SIZE_MAX ? limit / 2 : SIZE_MAX;
    size_t done = 0;
    size_t kept = 0;
    size_t len = 0;
    while (done < text->len && kept == len) {
        len = lines_within(text, done, most);
        kept = append_with_names(w, channel,
                                 &(struct text){.data = text->data + done, .len = len});
        done += kept;
    }
    return done;
}

size_t writer_append(struct writer *w, enum channel channel, const struct text *text)
{
    if (lines_failed(w, channel, text) || text->len == 0) {
        return 0;
    }
    size_t kept = w->spool.paused ? 0 : append_in_parts(w, channel, text);
    if (kept < text->len) {
        count_lost(w, channel, text->data + kept, text->len - kept);
    }
    return kept;
}

/* Makes names_text what opens the channel. */
static void format_opening(struct writer *w, enum channel channel)
{
    text_clear(&w->names_text);
    if (w->opening.len && channel_file_has_begun(&w->dir->file[channel])) {
        record_job_start_repeated(&w->names_text, &w->opening);
    } else {
        text_join(&w->names_text, &w->opening);
    }
}

static void give_opening(struct writer *w)
{
    const struct text *opening = &w->names_text;
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        enum channel channel = (enum channel)c;
        if (session_dir_has(w->dir, channel) && !w->has_opening[c]) {
            format_opening(w, channel);
            w->has_opening[c] = !lines_failed(w, channel, opening) &&
                                append_now(w, channel, opening) == opening->len;
        }
    }
}

void writer_append_everywhere(struct writer *w, const struct text *text)
{
    if (!w->spool.failed) {
        give_opening(w); /* the end may come in a pause in which that failed */
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        enum channel channel = (enum channel)c;
        if (!session_dir_has(w->dir, channel) || lines_failed(w, channel, text)) {
            continue;
        }
        size_t kept = append_now(w, channel, text);
        if (kept < text->len) {
            count_lost(w, channel, text->data + kept, text->len - kept);
        }
    }
}

void writer_append_opening(struct writer *w)
{
    memset(w->resumed, 0, sizeof w->resumed); /* the one that they had is older */
    memset(w->has_opening, 0, sizeof w->has_opening);
    if (!w->spool.failed) { /* else writer_append_retry writes it */
        give_opening(w);
    }
}

static struct writer_sent all_names(const struct writer *w)
{
    struct writer_sent all = {.scopes = (uint32_t)w->used_names.count};
    if (w->tracing.profiler.tracer) {
        all.trace = trace_names_count(&w->tracing.log.names);
    }
    return all;
}

/* Appends the names behind \p sent to names_text. */
static void format_names(struct writer *w, const struct writer_sent *sent)
{
    struct dictionary_part part[1 + TRACE_NAMES_PARTS] = {
        {.key = RECORD_SCOPE_NAME_DICT,
         .text = w->names->name,
         .from = sent->scopes,
         .to = (uint32_t)w->used_names.count,
         .id = w->used_names.id}};
    bool traced = w->tracing.profiler.tracer != NULL;
    if (traced) {
        trace_names_parts(&w->tracing.log.names, &sent->trace, part + 1);
    }
    record_dictionary(&w->names_text, &w->context, part,
                      traced ? 1 + TRACE_NAMES_PARTS : 1);
}

static bool same_names(const struct writer_sent *a, const struct writer_sent *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* it has no padding */
}
_Static_assert(sizeof(struct writer_sent) == 5 * sizeof(uint32_t), "no padding");

void writer_append_names(struct writer *w)
{
    const struct writer_sent all = all_names(w);
    const struct writer_sent *formatted = NULL;
    struct writer_sent before;
    for (int c = 0; c < CHANNEL_COUNT && !w->spool.paused; c++) {
        if (!session_dir_has(w->dir, (enum channel)c) || same_names(&w->sent[c], &all)) {
            continue;
        }
        if (!formatted || !same_names(formatted, &w->sent[c])) {
            before = w->sent[c];
            formatted = &before;
            text_clear(&w->names_text);
            format_names(w, &before);
        }
        if (!w->names_text.failed &&
            append_now(w, (enum channel)c, &w->names_text) == w->names_text.len) {
            file_names_note_new(w, (enum channel)c, &w->sent[c]);
            w->sent[c] = all;
        }
    }
}

/* The disk may take the opening and no more, each time that it is tried. */
static bool open_again(struct writer *w, enum channel channel)
{
    const struct writer_sent all = all_names(w);
    text_clear(&w->names_text);
    if (!w->has_opening[channel]) {
        format_opening(w, channel);
    }
    size_t opening = w->names_text.len;
    format_names(w, &(struct writer_sent){0});
    if (w->names_text.failed) {
        return false;
    }
    size_t kept = append_now(w, channel, &w->names_text);
    w->has_opening[channel] = kept >= opening;
    if (kept < w->names_text.len) {
        return false;
    }
    file_names_note_new(w, channel, &(struct writer_sent){0});
    w->sent[channel] = all;
    w->dir->lost_lines[channel] = false;
    return true;
}

void writer_append_replaced(struct writer *w)
{
    for (int c = 0; c < CHANNEL_COUNT && !w->spool.paused; c++) {
        if (w->dir->lost_lines[c]) {
            w->has_opening[c] = false;
            trace_log_rewind(&w->tracing.log);
            open_again(w, (enum channel)c);
        }
    }
}

void writer_append_count_gone(struct writer *w)
{
    struct session_amount all = {0};
    uint64_t from;
    uint64_t to;
    if (session_parts_take_lost(&w->dir->parts[CHANNEL_SCOPE], &from, &to)) {
        open_scopes_lose_rows(&w->open, from, to); /* no pair, when they end */
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        const struct session_amount lost = session_dir_lost(w->dir, (enum channel)c);
        atomic_store_explicit(&w->lines_gone[c], lost.lines, memory_order_relaxed);
        session_amount_add(&all, &lost);
    }
    atomic_store_explicit(&w->pairs_gone, all.pairs, memory_order_relaxed);
    atomic_store_explicit(&w->samples_gone, row_counts_samples(&all.rows),
                          memory_order_relaxed);
    atomic_store_explicit(&w->bytes_gone, all.bytes, memory_order_relaxed);
    w->summary.gone = all;
}

static void check_room(void *arg)
{
    struct writer *w = arg;
    int64_t now_ns = clock_mono_ns();
    if (spool_check(&w->spool, now_ns, now_ns + w->context.anchor_ns)) {
        give_opening(w);                    /* where that failed meanwhile */
        memset(w->sent, 0, sizeof w->sent); /* readers may lack names */
        trace_log_rewind(&w->tracing.log);
    }
}

void writer_append_check_room(struct writer *w)
{
    if (spool_check_is_due(&w->spool, clock_mono_ns())) {
        files_thread_do(check_room, w);
    }
}

void writer_append_retry(struct writer *w, bool now_or_never)
{
    int64_t now_ns = clock_mono_ns();
    if (now_or_never ? !w->spool.failed : !spool_retry_is_due(&w->spool, now_ns)) {
        return;
    }
    for (int c = 0; c < CHANNEL_COUNT; c++) {
        if (session_dir_has(w->dir, (enum channel)c) && !w->resumed[c]) {
            w->resumed[c] = open_again(w, (enum channel)c);
            if (!w->resumed[c]) {
                return;
            }
        }
    }
    spool_resume(&w->spool, now_ns);
    trace_log_rewind(&w->tracing.log);
}

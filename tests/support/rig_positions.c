/* SPDX-License-Identifier: Apache-2.0 */
/* An origin of positions in memory, as a reference for senders. */
#include "tests/support/rig_positions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/http/positions_read.h"
#include "base/crc32c.h"
#include "base/crc32c_combine.h"
#include "tests/support/check.h"

struct rig_stream *rig_positions_stream(struct rig_positions *p, const char *session,
                                        const char *channel)
{
    for (unsigned i = 0; i < p->streams; i++) {
        if (strcmp(p->stream[i].session, session) == 0 &&
            strcmp(p->stream[i].channel, channel) == 0) {
            return &p->stream[i];
        }
    }
    assert_true(p->streams < RIG_STREAMS_MAX);
    struct rig_stream *st = &p->stream[p->streams++];
    *st = (struct rig_stream){.end.at.file = 1};
    snprintf(st->session, sizeof st->session, "%s", session);
    snprintf(st->channel, sizeof st->channel, "%s", channel);
    st->raw = calloc(1, 1);
    return st;
}

struct rig_ended *rig_positions_session(struct rig_positions *p, const char *session)
{
    for (unsigned i = 0; i < p->sessions; i++) {
        if (strcmp(p->session[i].session, session) == 0) {
            return &p->session[i];
        }
    }
    assert_true(p->sessions < RIG_STREAMS_MAX);
    struct rig_ended *s = &p->session[p->sessions++];
    *s = (struct rig_ended){0};
    snprintf(s->session, sizeof s->session, "%s", session);
    return s;
}

int rig_positions_state(const struct rig_positions *p, const char *session)
{
    return rig_positions_session((struct rig_positions *)(uintptr_t)p, session)->state;
}

static void put_epoch(struct text *answer, const struct rig_positions *p)
{
    text_printf(answer, "{\"epoch\":\"%s%u\",", p->database ? p->database : "", p->epoch);
}

static void put_end(struct text *answer, const struct stored_end *end)
{
    text_printf(answer,
                "{\"file\":%u,\"offset\":%llu,\"lines\":%llu,\"crc\":%u,\"file_crc\":%u,"
                "\"losses\":%llu,\"skips\":%llu,\"lost_after\":%s,\"expired\":%s}",
                end->at.file, (unsigned long long)end->at.offset,
                (unsigned long long)end->at.lines, end->at.crc, end->file_crc,
                (unsigned long long)end->losses, (unsigned long long)end->skips,
                end->lost_after ? "true" : "false", end->expired ? "true" : "false");
}

static void note_part(struct rig_stream *st, const struct stored_end *from, size_t len)
{
    st->part = realloc(st->part, (st->parts + 1) * sizeof *st->part);
    st->part[st->parts++] =
        (struct rig_part){.from = *from, .to = st->end, .at = st->len - len, .len = len};
}

static void keep(struct rig_stream *st, const struct stream_part *part)
{
    uint32_t before = part->start.given                    ? part->start.file_crc
                      : part->begin.file == part->end.file ? st->end.file_crc
                                                           : 0;
    size_t own = part->len - part->added_newline;
    struct stored_end from = {.at = part->begin, .file_crc = before};
    from.at.file = part->end.file;
    from.at.offset = part->end.offset - own;
    assert_true(!part->skip); /* of a skip, nobody knows the bytes here */
    st->end.file_crc = crc32c(before, part->bytes, own);
    st->end.at = part->end;
    st->end.losses += part->start.given;
    st->end.lost_after = false;
    st->raw = realloc(st->raw, st->len + part->len + 1);
    memcpy(st->raw + st->len, part->bytes, part->len);
    st->len += part->len;
    st->raw[st->len] = '\0';
    note_part(st, &from, part->len);
}

static void pass_over(struct rig_stream *st, const struct stream_part *part)
{
    bool same = part->begin.file == part->end.file;
    struct stored_end from = {.at = part->begin};
    from.at.file = part->end.file;
    from.at.offset = part->start.given ? part->start.offset
                     : same            ? part->begin.offset
                                       : 0;
    from.file_crc = part->start.given ? part->start.file_crc
                    : same            ? st->end.file_crc
                                      : 0;
    st->end.file_crc = crc32c_combine(part->begin.crc ^ from.file_crc, part->end.crc,
                                      part->end.offset - from.at.offset);
    st->end.at = part->end;
    st->end.losses += part->start.given;
    st->end.skips++;
    note_part(st, &from, 0);
}

static const char *judge(struct rig_positions *p, const struct stream_part *part)
{
    struct rig_stream *st = rig_positions_stream(p, part->session, part->channel);
    struct rig_ended *session = rig_positions_session(p, part->session);
    if (!positions_fit(part)) {
        return "damaged";
    }
    if (!part->skip && p->poison && p->poison(part->bytes, part->len)) {
        return "refused";
    }
    if (st->windowed) {
        return "without_positions";
    }
    bool closed = session->state || session->owner;
    if (stream_place_is(&st->end.at, &part->begin) && !st->end.expired &&
        (!closed || part->reopens)) {
        (part->skip ? pass_over : keep)(st, part);
        session->state = 0;
        return "stored";
    }
    return stream_place_is(&st->end.at, &part->end) ? "known"
           : st->end.expired                        ? "expired"
           : closed                                 ? "complete"
                                                    : "conflict";
}

int rig_positions_parts(struct rig_positions *p, const char *raw, size_t len,
                        struct text *answer)
{
    struct positions_parts parts;
    const char *newline = memchr(raw, '\n', len);
    assert_non_null(newline);
    size_t line = (size_t)(newline - raw) + 1;
    const char *fault = positions_read_parts(raw, line - 1, &parts);
    if (fault) {
        fail_msg("a list of parts that cannot be read: %s", fault);
    }
    assert_true(positions_give_bytes(&parts, raw + line, len - line));
    put_epoch(answer, p);
    text_puts(answer, "\"parts\":[");
    for (size_t i = 0; i < parts.count; i++) {
        const struct stream_part *part = &parts.part[i];
        const char *verdict = judge(p, part);
        uint32_t owner = rig_positions_session(p, part->session)->owner;
        text_printf(answer, "%s{\"verdict\":\"%s\"%s", i ? "," : "", verdict,
                    strcmp(verdict, "refused") == 0 ? ",\"reason\":\"lines\"" : "");
        if (owner && strcmp(verdict, "complete") == 0) {
            text_printf(answer, ",\"owner\":%u", owner - 1);
        }
        text_puts(answer, ",\"end\":");
        put_end(answer, &rig_positions_stream(p, part->session, part->channel)->end);
        text_puts(answer, "}");
    }
    text_puts(answer, "]}");
    positions_parts_fini(&parts);
    return 200;
}

static bool has_rows(const struct rig_stream *st)
{
    return !st->windowed && (st->end.at.offset || st->end.at.file > 1);
}

int rig_positions_ends(struct rig_positions *p, const char *session, struct text *answer)
{
    static const char *const states[] = {"open", "verified", "ended"};
    const char *comma = "";
    put_epoch(answer, p);
    text_printf(answer, "\"state\":\"%s\",\"streams\":[",
                states[rig_positions_state(p, session)]);
    for (unsigned i = 0; i < p->streams; i++) {
        const struct rig_stream *st = &p->stream[i];
        if (strcmp(st->session, session) == 0 && has_rows(st)) {
            text_printf(answer, "%s{\"channel\":\"%s\",\"end\":", comma, st->channel);
            put_end(answer, &st->end);
            text_puts(answer, "}");
            comma = ",";
        }
    }
    text_puts(answer, "],\"without_positions\":[");
    comma = "";
    for (unsigned i = 0; i < p->streams; i++) {
        const struct rig_stream *st = &p->stream[i];
        if (strcmp(st->session, session) == 0 && st->windowed) {
            text_printf(answer, "%s\"%s\"", comma, st->channel);
            comma = ",";
        }
    }
    text_puts(answer, "]}");
    return 200;
}

/* Adds the lines of a part that end before \p offset. */
static struct stored_end lines_within(const struct rig_stream *st,
                                      const struct rig_part *part, uint64_t offset)
{
    struct stored_end end = part->from;
    const char *raw = st->raw + part->at;
    for (size_t i = 0; i < part->len && part->from.at.offset + i < offset; i++) {
        if (raw[i] == '\n') {
            size_t from = (size_t)(end.at.offset - part->from.at.offset);
            end.at.crc = crc32c(end.at.crc, raw + from, i + 1 - from);
            end.file_crc = crc32c(end.file_crc, raw + from, i + 1 - from);
            end.at.offset = part->from.at.offset + i + 1;
            end.at.lines++;
        }
    }
    return end;
}

int rig_positions_place(struct rig_positions *p, const char *session, const char *channel,
                        const struct stream_place *asked, struct text *answer)
{
    const struct rig_stream *st = rig_positions_stream(p, session, channel);
    const struct rig_part *found = NULL;
    for (unsigned i = 0; i < st->parts; i++) {
        const struct rig_part *part = &st->part[i];
        if (part->to.at.file == asked->file && part->from.at.offset <= asked->offset) {
            found = part;
        }
    }
    if (st->end.expired || !found) {
        text_printf(answer, "{\"error\":\"%s\"}",
                    st->end.expired ? "expired" : "not_found");
        return st->end.expired ? 410 : 404;
    }
    struct stored_end end = asked->offset >= found->to.at.offset
                                ? found->to
                                : lines_within(st, found, asked->offset);
    put_epoch(answer, p);
    text_puts(answer, "\"place\":");
    put_end(answer, &end);
    text_puts(answer, "}");
    return 200;
}

static const struct claim_channel *claimed(const struct store_claim *claim,
                                           const char *channel)
{
    for (size_t i = 0; i < claim->channels; i++) {
        if (strcmp(claim->channel[i].channel, channel) == 0) {
            return &claim->channel[i];
        }
    }
    return NULL;
}

/* None is taken back. */
static void note_losses(struct rig_positions *p, const struct store_claim *claim)
{
    for (unsigned i = 0; i < p->streams; i++) {
        struct rig_stream *st = &p->stream[i];
        const struct claim_channel *own = claimed(claim, st->channel);
        if (strcmp(st->session, claim->session) == 0 && has_rows(st) && own) {
            st->end.lost_after |= own->lost_after;
        }
    }
}

static bool adds_losses(struct rig_positions *p, const struct store_claim *claim)
{
    bool adds = false;
    for (size_t i = 0; i < claim->channels; i++) {
        const struct claim_channel *own = &claim->channel[i];
        const struct rig_stream *st =
            rig_positions_stream(p, claim->session, own->channel);
        adds |= own->lost_after && !st->end.lost_after;
    }
    return adds;
}

static int refuse_owned(const struct rig_positions *p, uint32_t owner,
                        struct text *answer)
{
    put_epoch(answer, p);
    text_printf(answer,
                "\"error\":\"owner\",\"owner\":%u,\"state\":\"open\",\"streams\":[],"
                "\"without_positions\":[]}",
                owner - 1);
    return 409;
}

int rig_positions_claim(struct rig_positions *p, const char *session, const char *body,
                        size_t len, struct text *answer)
{
    struct store_claim claim = {.session = session};
    size_t rows = 0;
    size_t equal = 0;
    size_t nothing = 0;
    bool lacks = false;
    bool expired = false;
    bool windowed = false;
    assert_null(positions_read_claim(body, len, &claim));
    for (size_t i = 0; i < claim.channels; i++) {
        nothing += claim_is_of_nothing(&claim.channel[i]);
    }
    for (unsigned i = 0; i < p->streams; i++) {
        const struct rig_stream *st = &p->stream[i];
        windowed |= st->windowed && strcmp(st->session, session) == 0;
        if (strcmp(st->session, session) == 0 && has_rows(st)) {
            const struct claim_channel *own = claimed(&claim, st->channel);
            rows++;
            expired |= st->end.expired;
            nothing -= own && claim_is_of_nothing(own);
            equal += own && stream_place_is(&own->end, &st->end.at);
            lacks |= st->end.losses || st->end.skips || st->end.lost_after ||
                     (own && own->lost_after);
        }
    }
    bool same = equal == rows && equal + nothing == claim.channels &&
                (windowed || !claim.without_positions);
    struct rig_ended *ended = rig_positions_session(p, session);
    lacks |= nothing > 0 || ended->state == 2;
    bool changes = ended->state != (lacks ? 2 : 1) || adds_losses(p, &claim);
    bool may = !changes || !ended->owner || ended->owner == claim.owner || claim.reopens;
    if (same && !expired && may) {
        note_losses(p, &claim);
    }
    free((void *)(uintptr_t)claim.channel);
    if (expired) {
        text_printf(answer, "{\"error\":\"expired\"}");
        return 410;
    }
    if (!same) {
        rig_positions_ends(p, session, answer);
        return 409;
    }
    if (!may) {
        return refuse_owned(p, ended->owner, answer);
    }
    ended->state = lacks ? 2 : 1;
    ended->owner = ended->owner ? ended->owner : claim.owner;
    text_printf(answer, "{\"complete\":%s}", lacks ? "false" : "true");
    return 200;
}

void rig_positions_copy(struct rig_positions *to, const struct rig_positions *from)
{
    rig_positions_fini(to);
    *to = *from;
    for (unsigned i = 0; i < to->streams; i++) {
        to->stream[i].raw = malloc(from->stream[i].len + 1);
        memcpy(to->stream[i].raw, from->stream[i].raw, from->stream[i].len + 1);
        size_t bytes = from->stream[i].parts * sizeof *from->stream[i].part;
        to->stream[i].part = malloc(bytes + 1);
        if (bytes) {
            memcpy(to->stream[i].part, from->stream[i].part, bytes);
        }
    }
}

void rig_positions_fini(struct rig_positions *p)
{
    for (unsigned i = 0; i < p->streams; i++) {
        free(p->stream[i].raw);
        free(p->stream[i].part);
    }
    p->streams = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out in which order the fewest lines are missing. */
#include "tests/sim/lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    const char *text;
    size_t len; /* without its end */
};

size_t lines_length(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end - text) + 1 : 0;
}

const char *lines_find(const char *text, const char *line, size_t len)
{
    while (text && *text) {
        size_t n = lines_length(text);
        if (n == len && memcmp(text, line, len) == 0) {
            return text;
        }
        text = n ? text + n : NULL;
    }
    return NULL;
}

static unsigned count_equal(const char *text, const char *line, size_t len)
{
    unsigned n = 0;
    for (const char *found; (found = lines_find(text, line, len)); text = found + len) {
        n++;
    }
    return n;
}

void lines_without(struct text *out, const char *text, const char *left)
{
    for (size_t len; (len = lines_length(text)); text += len) {
        if (count_equal(text, text, len) > count_equal(left, text, len)) {
            text_append(out, text, len);
        }
    }
}

static void note_line(struct lines_compared *c, unsigned *count, const char *line)
{
    if (!c->first[0]) {
        snprintf(c->first, sizeof c->first, "%.*s", (int)strcspn(line, "\n"), line);
    }
    ++*count;
}

static unsigned count_to(struct lines_compared *c, const char *from, const char *to)
{
    unsigned n = 0;
    while (from && *from && from != to) {
        size_t len = lines_length(from);
        if (!len) {
            break; /* a torn line, which may be missing */
        }
        note_line(c, &n, from);
        from += len;
    }
    return n;
}

/* \return the line at the end of \p text that its writer did not finish; NULL = none. */
static const char *torn_line(const char *text)
{
    const char *newline = strrchr(text, '\n');
    const char *last = newline ? newline + 1 : text;
    return *last ? last : NULL;
}

/* \return the lines of \p text, also one without an end; NULL if there are none. */
static struct line *split(const char *text, unsigned *count)
{
    struct line *lines = NULL;
    *count = 0;
    for (size_t len; *text; text += len + (text[len] == '\n')) {
        len = strcspn(text, "\n");
        if ((*count & (*count - 1)) == 0) { /* doubled at each power of two */
            lines = realloc(lines, (*count ? 2 * (size_t)*count : 1) * sizeof *lines);
        }
        lines[(*count)++] = (struct line){.text = text, .len = len};
    }
    return lines;
}

/* \return how many lines of \p written are in \p stored in this order, at most: the
 * length of their longest common subsequence. */
static unsigned most_in_order(const struct line *written, unsigned of_written,
                              const struct line *stored, unsigned of_stored)
{
    unsigned *best = calloc(of_stored + 1, sizeof *best); /* with the first i of them */
    for (unsigned w = 0; w < of_written; w++) {
        unsigned before = 0; /* best[i - 1] without this line */
        for (unsigned i = 1; i <= of_stored; i++) {
            const struct line *line = &stored[i - 1];
            bool same = line->len == written[w].len &&
                        memcmp(line->text, written[w].text, line->len) == 0;
            unsigned with = before + same;
            before = best[i];
            best[i] = with > best[i] ? with : best[i];
            best[i] = best[i - 1] > best[i] ? best[i - 1] : best[i];
        }
    }
    unsigned most = best[of_stored];
    free(best);
    return most;
}

/* Some lines are written more than once, such as the first ones of files of 1.1. One that
 * comes again, where it may, looks like the next of them, and all lines between the two
 * like missing ones. What is missing then is what no order of them has. */
static void correct_for_equal_lines(struct lines_compared *c, const char *written,
                                    const char *stored, bool torn_is_missing)
{
    unsigned of_written;
    unsigned of_stored;
    struct line *w = split(written, &of_written);
    struct line *s = split(stored, &of_stored);
    unsigned missing =
        of_written - torn_is_missing - most_in_order(w, of_written, s, of_stored);
    c->twice -= c->missing - missing;
    c->missing = missing;
    free(w);
    free(s);
}

void lines_compare(struct lines_compared *c, const char *written, const char *stored)
{
    const char *at = written;
    const char *torn = torn_line(written);
    bool torn_is_missing = torn;
    const char *line = stored;
    *c = (struct lines_compared){0};
    for (size_t len; (len = lines_length(line)); line += len) {
        c->stored++;
        const char *found = lines_find(at, line, len);
        bool is_torn =
            torn && strlen(torn) == len - 1 && memcmp(torn, line, len - 1) == 0;
        if (found) {
            unsigned before = c->missing;
            c->missing += count_to(c, at, found);
            c->gap |= c->missing > before;
            at = found + len;
        } else if (is_torn && torn_is_missing) {
            c->missing += count_to(c, at, torn);
            at = torn + len - 1;
            torn_is_missing = false;
        } else if (is_torn || lines_find(written, line, len)) {
            note_line(c, &c->twice, line);
        } else {
            note_line(c, &c->foreign, line);
        }
    }
    c->missing += count_to(c, at, NULL);
    if (c->missing && c->twice) {
        correct_for_equal_lines(c, written, stored, torn_is_missing);
    }
}

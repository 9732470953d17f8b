/* SPDX-License-Identifier: Apache-2.0 */
/* Parses batches by hand, reading each byte once, since they are most of the input. */
#include "backend/digest/rows.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define NUMBER_BYTES    40u
#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

struct row_walk {
    const char *at;
    const char *end;
};

static inline void skip_space(struct row_walk *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')) {
        c->at++;
    }
}

static inline bool take(struct row_walk *c, char wanted)
{
    skip_space(c);
    if (c->at < c->end && *c->at == wanted) {
        c->at++;
        return true;
    }
    return false;
}

/* The text between the quotes, without decoding escapes. */
static bool take_string(struct row_walk *c, const char **text, size_t *len)
{
    if (!take(c, '"')) {
        return false;
    }
    *text = c->at;
    while (c->at < c->end && *c->at != '"') {
        c->at += *c->at == '\\' && c->at + 1 < c->end ? 2 : 1;
    }
    if (c->at >= c->end) {
        return false;
    }
    *len = (size_t)(c->at - *text);
    c->at++;
    return true;
}

/* Skips any value, up to the comma or bracket that follows it. */
static bool skip_value(struct row_walk *c)
{
    const char *text;
    size_t len;
    unsigned depth = 0;
    skip_space(c);
    while (c->at < c->end) {
        char byte = *c->at;
        if (byte == '"') {
            if (!take_string(c, &text, &len)) {
                return false;
            }
            continue;
        }
        if (depth == 0 && (byte == ',' || byte == ']' || byte == '}')) {
            return true;
        }
        depth += byte == '[' || byte == '{';
        depth -= byte == ']' || byte == '}';
        c->at++;
    }
    return false;
}

/* With a fraction or an exponent. */
static int64_t slow_number(struct row_walk *c, const char *begin)
{
    char text[NUMBER_BYTES];
    while (c->at < c->end && strchr("0123456789.eE+-", *c->at) && *c->at) {
        c->at++;
    }
    size_t len = (size_t)(c->at - begin);
    if (len >= sizeof text) {
        return ROWS_NOTHING;
    }
    memcpy(text, begin, len);
    text[len] = '\0';
    double value = strtod(text, NULL);
    return value > -9e18 && value < 9e18 ? (int64_t)value : ROWS_NOTHING;
}

static bool take_number(struct row_walk *c, int64_t *out)
{
    skip_space(c);
    const char *begin = c->at;
    bool negative = c->at < c->end && *c->at == '-';
    uint64_t value = 0;
    c->at += negative;
    const char *first = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        value = value * 10 + (uint64_t)(*c->at++ - '0');
    }
    if (c->at == first) {
        c->at = begin;
        *out = ROWS_NOTHING;
        return skip_value(c);
    }
    *out = (int64_t)(negative ? 0 - value : value);
    if (c->at < c->end && (*c->at == '.' || *c->at == 'e' || *c->at == 'E')) {
        *out = slow_number(c, begin);
    }
    return true;
}

static bool is_same(const char *a, const char *b)
{
    return *a == *b && strcmp(a, b) == 0;
}

static bool is_wanted_column(const struct rows *rows, const char *name)
{
    const char *const *wanted = rows->wanted;
    while (wanted && *wanted && !is_same(*wanted, name)) {
        wanted++;
    }
    return !wanted || *wanted;
}

static bool take_columns(struct row_walk *c, struct rows *rows)
{
    const char *text;
    size_t len;
    rows->columns = 0;
    rows->reads = 0;
    if (!take(c, '[')) {
        return false;
    }
    while (!take(c, ']')) {
        if (rows->columns > 0 && !take(c, ',')) {
            return false;
        }
        if (rows->columns == ROWS_COLUMNS_MAX || !take_string(c, &text, &len)) {
            return false;
        }
        char *name = rows->name[rows->columns];
        bool fits = len < ROWS_NAME_BYTES; /* a longer name is none of ours */
        memcpy(name, text, fits ? len : 0);
        name[fits ? len : 0] = '\0';
        rows->reads |= (uint64_t)is_wanted_column(rows, name) << rows->columns++;
    }
    return rows->columns > 0;
}

/* What eight digits say, the first of them in the lowest byte; each is 0 to 9. */
static inline uint64_t number_of_eight(uint64_t digits)
{
    const uint64_t pair = 0x000000ff000000ff;
    digits = digits * 10 + (digits >> 8); /* in every other byte, of two digits */
    return ((digits & pair) * (100 + (UINT64_C(1000000) << 32)) +
            ((digits >> 16) & pair) * (1 + (UINT64_C(10000) << 32))) >>
           32;
}

/* The digits at \p at, up to eight of them without a branch for each, and moves it behind
 * them. \return false where there are none, or where the line ends within eight bytes. */
static inline bool take_digits(const char **at, const char *end, bool wanted,
                               uint64_t *out)
{
    uint64_t word;
    if (end - *at < (ptrdiff_t)sizeof word) {
        return false;
    }
    memcpy(&word, *at, sizeof word);
    word = le64toh(word) ^ EACH_BYTE('0');
    /* The first byte over 9 has its upper bit set; those before it have not. */
    uint64_t others = ((word + EACH_BYTE(0x7f - 9)) | word) & EACH_BYTE(0x80);
    if (others) {
        unsigned bits = (unsigned)__builtin_ctzll(others) & ~7u;
        *at += bits / 8;
        *out = wanted ? number_of_eight(word << (64 - bits) % 64) : 0;
        return bits > 0;
    }
    *out = number_of_eight(word);
    for (*at += sizeof word; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        *out = *out * 10 + (uint64_t)(**at - '0');
    }
    return *at < end;
}

/* A row of nothing but integers, one for each column, as writers make them: most bytes of
 * most bodies. \return false where it is another one, which is read from its begin. */
static bool take_plain_row(struct row_walk *c, const struct rows *rows, int64_t *cell)
{
    const char *at = c->at;
    if (at == c->end || *at++ != '[') {
        return false;
    }
    for (unsigned n = 0; n < rows->columns; n++) {
        uint64_t value;
        bool wanted = rows->reads >> n & 1;
        bool negative = at < c->end && *at == '-';
        at += negative;
        if (!take_digits(&at, c->end, wanted, &value) ||
            *at++ != (n + 1 < rows->columns ? ',' : ']')) {
            return false;
        }
        value = negative ? 0 - value : value;
        cell[n] = wanted ? (int64_t)value : ROWS_NOTHING;
    }
    c->at = at;
    return true;
}

/* A cell takes two bytes of the line at least. Rows that leave out most of theirs would
 * take hundreds of times the memory of the line. */
static bool reach_row(struct rows *rows)
{
    size_t need = (rows->count + 1) * rows->columns;
    int64_t *cell = need <= rows->cells_max
                        ? array_reach(rows->cell, need - 1, &rows->cap, sizeof *cell)
                        : NULL;
    rows->cell = cell ? cell : rows->cell;
    return cell;
}

static bool take_row(struct row_walk *c, struct rows *rows)
{
    if (!reach_row(rows)) {
        return false;
    }
    int64_t *cell = rows->cell + rows->count * rows->columns;
    if (take_plain_row(c, rows, cell)) {
        rows->count++;
        return true;
    }
    if (!take(c, '[')) {
        return false;
    }
    unsigned n = 0;
    int64_t beyond;
    while (!take(c, ']')) {
        if (n > 0 && !take(c, ',')) {
            return false;
        }
        if (!take_number(c, n < rows->columns ? &cell[n] : &beyond)) {
            return false;
        }
        n++;
    }
    for (; n < rows->columns; n++) {
        cell[n] = ROWS_NOTHING;
    }
    rows->count++;
    return true;
}

static bool take_rows(struct row_walk *c, struct rows *rows)
{
    if (!take(c, '[')) {
        return false;
    }
    while (!take(c, ']')) {
        if (rows->count > 0 && !take(c, ',')) {
            return false;
        }
        if (!take_row(c, rows)) {
            return false;
        }
    }
    return true;
}

static bool is_key(const char *text, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(text, name, len) == 0;
}

bool rows_read(struct rows *rows, const char *line, size_t len)
{
    struct row_walk c = {line, line + len};
    const char *key;
    size_t key_len;
    bool any = false;
    rows->base_ns = 0;
    rows->columns = 0;
    rows->count = 0;
    rows->cells_max = len < ROWS_CELLS_MAX ? len : ROWS_CELLS_MAX;
    if (!take(&c, '{')) {
        return false;
    }
    do {
        if (!take_string(&c, &key, &key_len) || !take(&c, ':')) {
            return false;
        }
        bool ok;
        if (is_key(key, key_len, "base_time_ns")) {
            ok = take_number(&c, &rows->base_ns) && rows->base_ns != ROWS_NOTHING;
        } else if (is_key(key, key_len, "columns") && !any) {
            ok = take_columns(&c, rows);
        } else if (is_key(key, key_len, "rows") && !any && rows->columns > 0) {
            ok = any = take_rows(&c, rows);
        } else {
            ok = skip_value(&c);
        }
        if (!ok) {
            return false;
        }
    } while (take(&c, ','));
    return any && take(&c, '}');
}

int rows_column(const struct rows *rows, const char *name)
{
    for (unsigned i = 0; i < rows->columns; i++) {
        if (*name && is_same(rows->name[i], name)) {
            assert(rows->reads >> i & 1);
            return (int)i;
        }
    }
    return -1;
}

void rows_fini(struct rows *rows)
{
    free(rows->cell);
    *rows = (struct rows){0};
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares words by optimal string alignment: Levenshtein's distance in which swapped
 * neighbours are one edit. */
#include "base/nearest.h"

#include <ctype.h>
#include <string.h>

#define LETTERS_MAX 64u

static char letter(char c)
{
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned edits_between(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned row[3][LETTERS_MAX + 1]; /* two rows back, one row back, this one */
    unsigned *before = row[0], *above = row[1], *here = row[2];
    for (size_t k = 0; k <= b_len; k++) {
        above[k] = (unsigned)k;
        before[k] = 0;
    }
    for (size_t i = 1; i <= a_len; i++) {
        here[0] = (unsigned)i;
        for (size_t k = 1; k <= b_len; k++) {
            unsigned differs = letter(a[i - 1]) != letter(b[k - 1]);
            here[k] = least(above[k - 1] + differs, least(above[k], here[k - 1]) + 1);
            if (i > 1 && k > 1 && letter(a[i - 1]) == letter(b[k - 2]) &&
                letter(a[i - 2]) == letter(b[k - 1])) {
                here[k] = least(here[k], before[k - 2] + 1);
            }
        }
        unsigned *oldest = before;
        before = above;
        above = here;
        here = oldest;
    }
    return above[b_len];
}

const char *nearest_name(const char *word, const char *const *name, size_t count)
{
    size_t len = strlen(word);
    const char *best = NULL;
    unsigned best_edits = 0;
    for (size_t i = 0; len <= LETTERS_MAX && i < count; i++) {
        size_t name_len = name[i] ? strlen(name[i]) : LETTERS_MAX + 1;
        if (name_len > LETTERS_MAX) {
            continue;
        }
        unsigned edits = edits_between(word, len, name[i], name_len);
        size_t longer = len > name_len ? len : name_len;
        if (3 * edits <= longer && (!best || edits < best_edits)) {
            best = name[i];
            best_edits = edits;
        }
    }
    return best;
}

bool nearest_is_slip(const char *word, const char *name)
{
    size_t len = strlen(word);
    size_t name_len = strlen(name);
    return len <= LETTERS_MAX && name_len <= LETTERS_MAX &&
           edits_between(word, len, name, name_len) <= 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Tells backends that were left from other names of the present one. */
#include "upload/journal/origin_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sha256.h"

_Static_assert(SHA256_BYTES == JOURNAL_KEY_HASH, "the journal has room for a hash");

void origin_history_hash(const unsigned char salt[JOURNAL_SALT],
                         const unsigned char key[JOURNAL_KEY_HASH],
                         unsigned char out[JOURNAL_KEY_HASH])
{
    struct sha256_part part[] = {{salt, JOURNAL_SALT}, {key, JOURNAL_KEY_HASH}};
    sha256(part, 2, out);
}

static bool history_same_url(const struct record_origin *record, const char *url)
{
    return strcmp(record->url, url) == 0;
}

static bool history_is(const struct record_origin *record, const char *url,
                       const unsigned char key[JOURNAL_KEY_HASH])
{
    unsigned char hash[JOURNAL_KEY_HASH];
    origin_history_hash(record->salt, key, hash);
    return history_same_url(record, url) && memcmp(hash, record->key, sizeof hash) == 0;
}

/* Another name of the present backend: of each URL the last key is enough. Of other
 * backends, those that came back have the salt from before. \return where it is, or
 * count.
 */
static size_t history_find(const struct origin_history *history,
                           const struct record_origin *record)
{
    size_t i = 0;
    for (; i < history->count; i++) {
        const struct record_origin *known = &history->before[i];
        if (history_same_url(known, record->url) &&
            (i >= history->others ||
             (memcmp(known->salt, record->salt, sizeof known->salt) == 0 &&
              memcmp(known->key, record->key, sizeof known->key) == 0))) {
            break;
        }
    }
    return i;
}

static void history_keep(struct origin_history *history,
                         const struct record_origin *record)
{
    size_t at = history_find(history, record);
    struct record_origin *more = history->before;
    if (at == history->count) {
        more = at == ORIGIN_HISTORY_MAX
                   ? NULL
                   : array_grown(more, at, &history->cap, sizeof *more);
        history->partial = history->partial || !more;
    }
    if (!more) {
        return;
    }
    uint8_t moved = at < history->count ? more[at].moved : record->moved;
    history->before = more;
    history->count += at == history->count;
    more[at] = *record;
    more[at].moved = moved; /* as when it was there first */
}

void origin_history_note(struct origin_history *history,
                         const struct record_origin *record)
{
    if (!history->now.url[0]) {
        /* A version that did not keep them has rewritten the journal. */
        history->partial = record->moved && !record->again;
    } else if (!record->same || !history_same_url(record, history->now.url)) {
        history_keep(history, &history->now);
    }
    if (!record->same) {
        history->others = history->count;
    }
    history->now = *record;
}

enum origin_match origin_history_match(const struct origin_history *history,
                                       const char *url,
                                       const unsigned char key[JOURNAL_KEY_HASH])
{
    return !history->now.url[0]                    ? ORIGIN_NOT_NOTED
           : !history_same_url(&history->now, url) ? ORIGIN_OTHER_URL
           : history_is(&history->now, url, key)   ? ORIGIN_MATCHES
                                                   : ORIGIN_OTHER_KEY;
}

/* At the URL of the present one there may be several, told apart by the key. */
bool origin_history_was_left(const struct origin_history *history, const char *url,
                             const unsigned char key[JOURNAL_KEY_HASH])
{
    bool elsewhere = !history_same_url(&history->now, url);
    for (size_t i = 0; i < history->others; i++) {
        const struct record_origin *other = &history->before[i];
        if (history_is(other, url, key) || (elsewhere && history_same_url(other, url))) {
            return true;
        }
    }
    return history->partial || history->count == ORIGIN_HISTORY_MAX;
}

void origin_history_name(const struct origin_history *history,
                         struct record_origin *record,
                         const unsigned char key[JOURNAL_KEY_HASH],
                         const unsigned char fresh_salt[JOURNAL_SALT])
{
    memcpy(record->salt, fresh_salt, JOURNAL_SALT);
    for (size_t i = 0; i <= history->count; i++) {
        const struct record_origin *known =
            i < history->count ? &history->before[i] : &history->now;
        if (history_is(known, record->url, key)) {
            memcpy(record->salt, known->salt, JOURNAL_SALT);
        }
    }
    origin_history_hash(record->salt, key, record->key);
}

void origin_history_write(const struct origin_history *history, struct journal *journal)
{
    for (size_t i = 0; history->now.url[0] && i <= history->count; i++) {
        struct record_origin record =
            i < history->count ? history->before[i] : history->now;
        record.again = 0;
        record.same = i > history->others;
        record_append_origin(journal, &record);
    }
}

void origin_history_fini(struct origin_history *history)
{
    free(history->before);
    memset(history, 0, sizeof *history);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Formats dictionary_update records. */
#include "collector-lib/core/record_dictionary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/records.h"

/* A line ends behind the entry that reaches the first; an entry takes at most six times
 * the second: each line is shorter than 1 MiB. */
#define LINE_BYTES (512u << 10)
#define TEXT_BYTES RECORD_DICTIONARY_TEXT_BYTES
#define ELLIPSIS   "\xe2\x80\xa6"

/* The next entry of \p part behind the entry \p at that has a text; 0 = no more. */
static uint32_t next_text(const struct dictionary_part *part, uint32_t at, uint32_t *id)
{
    while (at < part->to) {
        at++;
        *id = part->id ? part->id[at - 1] : at;
        if (part->text[*id]) {
            return at;
        }
    }
    return 0;
}

static void write_name(struct text *out, const char *name)
{
    size_t len = strnlen(name, TEXT_BYTES + 1);
    char *begin = len > TEXT_BYTES ? malloc(TEXT_BYTES + sizeof ELLIPSIS) : NULL;
    if (!begin) {
        text_json_bytes(out, name, len > TEXT_BYTES ? TEXT_BYTES : len);
        return;
    }
    for (len = TEXT_BYTES; len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80;) {
        len--; /* to the begin of a character */
    }
    memcpy(begin, name, len);
    memcpy(begin + len, ELLIPSIS, sizeof ELLIPSIS);
    text_json_string(out, begin);
    free(begin);
}

/* The record that is being written. */
struct dictionary_line {
    struct text *out;
    const struct record_context *context;
    const char *key; /* of the open object; NULL = none */
    size_t begin;
    bool open;
};

static void dictionary_line_end(struct dictionary_line *line)
{
    if (line->open) {
        text_puts(line->out, line->key ? "}}\n" : "}\n");
    }
    line->open = false;
    line->key = NULL;
}

static void dictionary_line_add(struct dictionary_line *line, const char *key,
                                uint32_t id, const char *name)
{
    if (line->open && line->out->len - line->begin >= LINE_BYTES) {
        dictionary_line_end(line);
    }
    if (!line->open) {
        line->begin = line->out->len;
        line->open = true;
        record_begin(line->out, line->context, 1, RECORD_DICTIONARY);
    }
    if (line->key == key) {
        text_puts(line->out, ",");
    } else {
        text_printf(line->out, "%s,\"%s\":{", line->key ? "}" : "", key);
        line->key = key;
    }
    text_printf(line->out, "\"%u\":", id);
    write_name(line->out, name);
}

void record_dictionary(struct text *out, const struct record_context *context,
                       const struct dictionary_part *part, size_t parts)
{
    struct dictionary_line line = {.out = out, .context = context};
    for (size_t i = 0; i < parts; i++) {
        uint32_t id = 0;
        for (uint32_t at = part[i].from; (at = next_text(&part[i], at, &id));) {
            dictionary_line_add(&line, part[i].key, id, part[i].text[id]);
        }
    }
    dictionary_line_end(&line);
}

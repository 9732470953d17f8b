/* SPDX-License-Identifier: Apache-2.0 */
/* Names the kinds of losses, and reads their counters. */
#include "schema/losses.h"

#include <string.h>

#include "schema/layout.h"
#include "schema/plain_object.h"
#include "schema/record_field.h"

static const struct {
    const char *key;
    const char *text;
} kinds[LOSS_KINDS] = {
#define LOSS_NAMES_(kind, key, text) [kind] = {key, text},
    LOSSES(LOSS_NAMES_)};

const char *losses_key(enum loss kind)
{
    return kinds[kind].key;
}

const char *losses_what(enum loss kind)
{
    return kinds[kind].text;
}

void losses_raise(struct losses *losses, const char *line, size_t len)
{
    static const char *const member[] = {"losses"};
    const char *key[LOSS_KINDS];
    struct record_text object;
    struct record_text value[LOSS_KINDS];
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        key[kind] = kinds[kind].key;
    }
    if (!plain_object_read(line, len, member, 1, &object) ||
        !plain_object_has_object(object) ||
        !plain_object_read(object.at, object.len, key, LOSS_KINDS, value)) {
        return;
    }
    for (int kind = 0; kind < LOSS_KINDS; kind++) {
        int64_t count = plain_object_int(value[kind], INT64_MAX);
        if (count > 0 && (uint64_t)count > losses->count[kind]) {
            losses->count[kind] = (uint64_t)count;
        }
    }
}

bool losses_is_marker(const char *name)
{
    const char *dot = strrchr(name, '.');
    return layout_parse(name).kind == LAYOUT_LOSS && strcmp(dot, ".json") == 0;
}

uint64_t losses_of_marker(const char *text, size_t len)
{
    int64_t lines = 0;
    return record_field_int64(text, len, "lines", &lines) ? (uint64_t)lines : 0;
}

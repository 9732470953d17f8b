/* SPDX-License-Identifier: Apache-2.0 */
/* Names the channels of a session and the one that a record lies in. */
#include "schema/channels.h"

#include <stddef.h>
#include <string.h>

#include "schema/records.h"

const char *channel_name(enum channel channel)
{
    static const char *const name[CHANNEL_COUNT] = {CHANNEL_NAMES};
    return name[channel];
}

enum channel channel_named(const char *name)
{
    int i = 0;
    while (i < CHANNEL_COUNT && strcmp(channel_name((enum channel)i), name) != 0) {
        i++;
    }
    return (enum channel)i;
}

bool channel_is_known(const char *name)
{
    return channel_named(name) != CHANNEL_COUNT;
}

enum channel channel_of_record(const char *type)
{
#define X(type, channel) {type, CHANNEL_##channel},
    static const struct {
        const char *type;
        enum channel channel;
    } records[] = {RECORD_CHANNELS(X)};
#undef X
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        if (strcmp(records[i].type, type) == 0) {
            return records[i].channel;
        }
    }
    return CHANNEL_COUNT;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The channels of a session: each is one file of its directory, `<channel>.log`. */
#ifndef GPUFL_SCHEMA_CHANNELS_H
#define GPUFL_SCHEMA_CHANNELS_H

#include <stdbool.h>

/** FIRST(identifier, name), then X(identifier, name) for each further channel: two
 * macros, so that a text made of them has its commas. */
#define CHANNELS(FIRST, X)                                                               \
    FIRST(DEVICE, "device")                                                              \
    X(SCOPE, "scope")                                                                    \
    X(SYSTEM, "system")                                                                  \
    X(SASS, "sass")

#define CHANNEL_ENUM_(id, name) CHANNEL_##id,
#define CHANNEL_NAME_(id, name) name,
#define CHANNEL_TEXT_(id, name) name
#define CHANNEL_MORE_(id, name) "," name

enum channel { CHANNELS(CHANNEL_ENUM_, CHANNEL_ENUM_) CHANNEL_COUNT };

/** The names in the order of the enum, as the initialiser of an array. */
#define CHANNEL_NAMES CHANNELS(CHANNEL_NAME_, CHANNEL_NAME_)

/** The same as one text: `device,scope,…`. */
#define CHANNEL_LIST CHANNELS(CHANNEL_TEXT_, CHANNEL_MORE_)

/** The name of \p channel, which is none but those above. */
const char *channel_name(enum channel channel);

/** \return the channel of that name; CHANNEL_COUNT if none has it. */
enum channel channel_named(const char *name);

/** \return true if a channel has that name. */
bool channel_is_known(const char *name);

/** The channel that records of \p type lie in; CHANNEL_COUNT when they are in several, or
 * when the type is not in schema/records.h. */
enum channel channel_of_record(const char *type);

#endif

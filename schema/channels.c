/* SPDX-License-Identifier: Apache-2.0 */
/* Names the channels of a session. */
#include "schema/channels.h"

const char *channel_name(enum channel channel)
{
    static const char *const name[CHANNEL_COUNT] = {CHANNEL_NAMES};
    return name[channel];
}

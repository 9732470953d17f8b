/* SPDX-License-Identifier: Apache-2.0 */
/* Counts answers by status and lines by channel, in tables of fixed size. */
#include "upload/core/counters.h"

#include <stdio.h>
#include <string.h>

void counters_add(struct counters_amount *amount, uint64_t lines, uint64_t bytes)
{
    amount->lines += lines;
    amount->bytes += bytes;
}

void counters_note_status(struct counters_statuses *s, int status)
{
    unsigned i = 0;
    while (i < s->used && s->at[i].status != status) {
        i++;
    }
    if (i == COUNTERS_STATUSES_MAX) {
        i--; /* the last entry counts all that do not fit */
        s->at[i].status = COUNTERS_OTHER_STATUS;
    } else if (i == s->used) {
        s->at[s->used++].status = status;
    }
    s->at[i].count++;
}

void counters_note_retry(struct counters *c, const struct transport_reply *reply)
{
    c->retries[reply->status >= 500 ? TRANSPORT_SERVER
               : reply->status      ? TRANSPORT_BUSY
                                    : reply->failure]++;
}

struct counters_channel *counters_channel(struct counters *c, const char *name)
{
    unsigned i = 0;
    while (i < c->channels && strcmp(c->channel[i].name, name) != 0) {
        i++;
    }
    if (i == COUNTERS_CHANNELS_MAX) {
        i--;
        snprintf(c->channel[i].name, sizeof c->channel[0].name, COUNTERS_OTHER_CHANNEL);
    } else if (i == c->channels) {
        snprintf(c->channel[c->channels++].name, sizeof c->channel[0].name, "%s", name);
    }
    return &c->channel[i];
}

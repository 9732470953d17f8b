/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up and adds a root's channels. */
#include "upload/core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int registry_channel(struct root *root, const char *channel)
{
    for (unsigned i = 0; i < root->channel_names; i++) {
        if (strcmp(root->channel_name[i], channel) == 0) {
            return (int)i;
        }
    }
    if (root->channel_names == SCAN_CHANNELS_MAX) {
        return -1;
    }
    snprintf(root->channel_name[root->channel_names], sizeof root->channel_name[0], "%s",
             channel);
    return (int)root->channel_names++;
}

bool registry_follows(const struct root *root, const char *channel)
{
    for (unsigned i = 0; i < root->channels.count; i++) {
        if (strcmp(root->channels.name[i], channel) == 0) {
            return true;
        }
    }
    return false;
}

void registry_append_absence(const struct root *root, const char *path,
                             const struct absence *absence)
{
    struct record_away record = {.days = absence->days, .last = absence->last};
    snprintf(record.path, sizeof record.path, "%s", path);
    (void)record_append_away(root->journal, &record);
}

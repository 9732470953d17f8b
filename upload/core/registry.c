/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up and changes a root's channels and its quarantine list. */
#include "upload/core/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "upload/journal/record_apply.h"

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

static bool registry_reserve_quarantine(struct root *root)
{
    struct record_quarantine *more = array_grown(root->quarantine, root->quarantines,
                                                 &root->quarantine_cap, sizeof *more);
    if (more) {
        root->quarantine = more;
    }
    return more != NULL;
}

static void registry_add_range(struct root *root, const struct record_quarantine *record)
{
    root->quarantine[root->quarantines++] = *record;
    shares_add(&root->engine->ranges, record->owner, 1);
}

static void registry_uncharge_range(const struct root *root,
                                    const struct record_quarantine *record)
{
    shares_remove(&root->engine->ranges, record->owner, 1);
    root->engine->ranges_left = true;
}

bool registry_list_quarantine(struct root *root, const struct record_quarantine *record)
{
    if (!registry_reserve_quarantine(root)) {
        return false;
    }
    registry_add_range(root, record);
    return true;
}

bool registry_quarantine(struct root *root, const struct record_quarantine *record)
{
    if (!registry_reserve_quarantine(root) ||
        !record_append_quarantine(root->journal, record)) {
        return false;
    }
    registry_add_range(root, record);
    return true;
}

bool registry_release(struct root *root, const struct record_released *record,
                      struct record_quarantine *out)
{
    bool taken = record_take_range(record, root->quarantine, &root->quarantines, out);
    if (taken) {
        registry_uncharge_range(root, out);
    }
    return taken;
}

void registry_keep_ranges(struct root *root,
                          bool (*keeps)(void *arg, struct record_quarantine *range),
                          void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < root->quarantines; i++) {
        if (keeps && keeps(arg, &root->quarantine[i])) {
            root->quarantine[kept++] = root->quarantine[i];
        } else {
            registry_uncharge_range(root, &root->quarantine[i]);
        }
    }
    root->quarantines = kept;
}

bool registry_is_quarantined(const struct root *root, uint32_t stream, uint32_t file)
{
    for (size_t i = 0; i < root->quarantines; i++) {
        if (root->quarantine[i].stream == stream && root->quarantine[i].file == file) {
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

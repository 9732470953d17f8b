/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers the devices in the order in which they become known. */
#include "collector-lib/core/device_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *without_prefix(const char *uuid)
{
    bool prefixed = strncmp(uuid, "GPU-", 4) == 0 || strncmp(uuid, "MIG-", 4) == 0;
    return prefixed ? uuid + 4 : uuid;
}

unsigned device_table_id(struct device_table *table, const char *uuid)
{
    for (unsigned i = 0; i < table->count; i++) {
        if (strcasecmp(without_prefix(table->uuid[i]), without_prefix(uuid)) == 0) {
            return i;
        }
    }
    return device_table_add(table, uuid);
}

unsigned device_table_add(struct device_table *table, const char *uuid)
{
    if (table->count == DEVICE_TABLE_MAX) {
        return DEVICE_TABLE_MAX;
    }
    snprintf(table->uuid[table->count], DEVICE_UUID_BYTES, "%s", uuid);
    return table->count++;
}

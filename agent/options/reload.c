/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the settings as they are now with those in use. */
#include "agent/options/reload.h"

#include <stdio.h>
#include <string.h>

#include "agent/options/option_find.h"
#include "agent/options/option_sources.h"
#include "agent/options/option_value.h"

gpufl_status reload_options(int argc, char **argv, struct options *options,
                            char kept[512], char why[512])
{
    struct options fresh;
    gpufl_status status = option_sources_read(argc, argv, &fresh, why);
    size_t used = 0;
    kept[0] = '\0';
    for (size_t i = 0; status == GPUFL_OK && i < option_rows_count; i++) {
        const struct option_row *row = &option_rows[i];
        /* A secret was wiped where it stood; its file is read again by itself. */
        if (!option_is_built(row) || row->secret ||
            !option_differs(row, options, &fresh)) {
            continue;
        }
        if (row->reloadable) {
            option_copy(row, options, &fresh);
        } else if (used + strlen(row->flag) + 2 < 512) {
            used += (size_t)snprintf(kept + used, 512 - used, "%s%s", used ? " " : "",
                                     row->flag);
        }
    }
    option_values_free(&fresh);
    return status;
}

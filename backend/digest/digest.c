/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to a digest and releases it. */
#include "backend/digest/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ALLOCATION_BYTES 32u /* what the smallest takes, at most */

bool digest_add_name(struct digest *d, enum digest_dictionary dictionary, int64_t id,
                     char *text)
{
    struct digest_name *name = array_grown(d->name, d->names, &d->name_cap, sizeof *name);
    d->name = name ? name : d->name;
    if (!name || !text) {
        free(text);
        return false;
    }
    name[d->names++] = (struct digest_name){dictionary, id, text};
    return true;
}

struct digest_table *digest_add_table(struct digest *d, enum digest_table_kind kind,
                                      int64_t device)
{
    struct digest_table *table =
        array_grown(d->table, d->tables, &d->table_cap, sizeof *table);
    if (!table) {
        return NULL;
    }
    d->table = table;
    table += d->tables++;
    *table = (struct digest_table){.kind = kind, .device = device};
    return table;
}

size_t digest_bytes(const struct digest *d)
{
    size_t bytes = d->tallies.cap * sizeof *d->tallies.slot +
                   d->name_cap * sizeof *d->name + d->table_cap * sizeof *d->table;
    for (size_t i = 0; i < d->names; i++) {
        bytes += strlen(d->name[i].text) + ALLOCATION_BYTES;
    }
    for (size_t i = 0; i < d->tables; i++) {
        bytes += d->table[i].packed.cap + ALLOCATION_BYTES;
    }
    for (unsigned i = 0; i < TEXT_COUNT; i++) {
        bytes += d->text[i] ? strlen(d->text[i]) : 0;
    }
    return bytes;
}

void digest_fini(struct digest *d)
{
    for (size_t i = 0; i < d->names; i++) {
        free(d->name[i].text);
    }
    for (size_t i = 0; i < d->tables; i++) {
        text_fini(&d->table[i].packed);
    }
    for (unsigned i = 0; i < TEXT_COUNT; i++) {
        free(d->text[i]);
    }
    tally_fini(&d->tallies);
    rows_fini(&d->rows);
    free(d->name);
    free(d->table);
    *d = (struct digest){0};
}

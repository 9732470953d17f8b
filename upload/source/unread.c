/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what is not read, with one name of each kind as an example. */
#include "upload/source/unread.h"

#include <string.h>

#include "base/hash.h"
#include "schema/layout.h"

#define UNREAD_KEY_(id, key, text)  [UNREAD_##id] = (key),
#define UNREAD_TEXT_(id, key, text) [UNREAD_##id] = (text),

const char *unread_key(enum unread_reason reason)
{
    static const char *const key[] = {UNREAD_REASONS(UNREAD_KEY_)};
    return key[reason];
}

const char *unread_text(enum unread_reason reason)
{
    static const char *const text[] = {UNREAD_REASONS(UNREAD_TEXT_)};
    return text[reason];
}

/* Anybody may have made the name: it goes to logs and terminals. */
static void unread_printable(const char *name, char out[UNREAD_NAME_MAX])
{
    size_t i = 0;
    for (; i < UNREAD_NAME_MAX - 1 && name[i]; i++) {
        bool plain = name[i] >= ' ' && name[i] <= '~' && name[i] != '"' &&
                     name[i] != '\\' && name[i] != '\'';
        out[i] = name[i];
        if (!plain) {
            out[i] = '?';
        }
    }
    out[i] = '\0';
}

/* A directory is listed in any order, but the example is always the same. */
static void unread_count(struct unread_group *group, const char *name)
{
    char text[UNREAD_NAME_MAX];
    unread_printable(name, text);
    if (group->names++ == 0 || strcmp(text, group->example) < 0) {
        memcpy(group->example, text, sizeof text);
    }
}

void unread_add(struct unread *unread, enum unread_reason reason, const char *name)
{
    unread_count(&unread->reason[reason], name);
    unread->names++;
    unread->mark += hash64_bytes(HASH64_BASIS, name, strlen(name)); /* in any order */
    unread->mark += unread->mark == 0;
}

/* Writers put records only into files with `.log` in their names, and so do the tools
 * that rename or copy those: `device.log.1`, `device.log~`, `.device.log.Xy12Ab`. */
void unread_add_name(struct unread *unread, const char *name)
{
    static const char *const known[] = {".", "..", ".failed", LAYOUT_UPLOADED};
    bool ours = strncmp(name, LAYOUT_OWN_PREFIX, sizeof LAYOUT_OWN_PREFIX - 1) == 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ours = ours || strcmp(name, known[i]) == 0;
    }
    if (!ours && strstr(name, ".log")) {
        unread_add(unread, UNREAD_NAME, name);
    } else if (!ours) {
        unread_count(&unread->other, name);
    }
}

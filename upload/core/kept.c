/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the names of groups in a table: somebody may have made very many. */
#include "upload/core/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/core/session.h"
#include "upload/source/listing.h"

struct kept_group {
    struct path_node node;
    char name[];
};

static bool kept_add(struct root *root, const char *group)
{
    size_t len = strlen(group) + 1;
    if (path_table_find(&root->kept, group)) {
        return true;
    }
    struct kept_group *kept = malloc(sizeof *kept + len);
    if (!kept) {
        return false;
    }
    kept->node.path = memcpy(kept->name, group, len);
    if (!path_table_add(&root->kept, &kept->node)) {
        free(kept);
        return false;
    }
    return true;
}

void kept_directory(struct root *root, const char *path)
{
    struct session *session = session_find(root, path);
    struct parked_session *parked = parked_find(&root->parked, path);
    if (session) {
        session->listed = root->listing_number;
        session_mark(session);
    }
    if (parked) {
        parked->listed = root->listing_number;
    }
    if (root->listing && !strchr(path, '/') && !kept_add(root, path)) {
        root->listing->error = ENOMEM; /* it proves nothing */
    }
}

bool kept_has(const struct root *root, const char *path)
{
    char group[LAYOUT_NAME_MAX + 1];
    const char *slash = strchr(path, '/');
    if (!slash || root->kept.count == 0) {
        return false;
    }
    snprintf(group, sizeof group, "%.*s", (int)(slash - path), path);
    return path_table_find(&root->kept, group) != NULL;
}

static void kept_free(void *arg, struct path_node *node)
{
    (void)arg;
    free(node);
}

void kept_clear(struct root *root)
{
    path_table_each(&root->kept, kept_free, NULL);
    path_table_close(&root->kept);
}

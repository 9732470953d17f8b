/* SPDX-License-Identifier: Apache-2.0 */
/* Two hash tables over the same places. */
#include "agent/watch_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct watch_place *watch_place_make(unsigned root, const char *root_path,
                                     const char *session)
{
    size_t len = strlen(session) + 1;
    size_t root_len = strlen(root_path) + 1;
    struct watch_place *p = malloc(sizeof *p + len + root_len);
    if (p) {
        *p = (struct watch_place){.wd = -1, .root = root};
        memcpy(p->session, session, len);
        p->root_path = memcpy(p->session + len, root_path, root_len);
    }
    return p;
}

/* Very many are kept. */
struct watch_place *watch_place_trim(struct watch_place *p)
{
    if (!p->session[0]) {
        return p;
    }
    struct watch_place *less = realloc(p, sizeof *p + strlen(p->session) + 1);
    less = less ? less : p;
    less->root_path = NULL;
    return less;
}

static struct watch_place **wd_bucket(struct watch_places *places, int wd)
{
    return &places->by_wd[(unsigned)wd % WATCH_BUCKETS];
}

struct watch_place *watch_places_by_wd(struct watch_places *places, int wd)
{
    struct watch_place *p = *wd_bucket(places, wd);
    while (p && p->wd != wd) {
        p = p->next_by_wd;
    }
    return p;
}

struct watch_place **watch_places_link(struct watch_places *places, unsigned root,
                                       const char *session)
{
    struct watch_place **link =
        &places->by_name[hash_text(root, session) % WATCH_BUCKETS];
    while (*link && ((*link)->root != root || strcmp((*link)->session, session) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

void watch_places_insert(struct watch_places *places, struct watch_place *p)
{
    struct watch_place **name = watch_places_link(places, p->root, p->session);
    struct watch_place **wd = wd_bucket(places, p->wd);
    p->next = *name;
    *name = p;
    p->next_by_wd = *wd;
    *wd = p;
    shares_add(&places->shares, p->owner, p->session[0] != '\0');
}

void watch_places_remove(struct watch_places *places, struct watch_place **link)
{
    struct watch_place *p = *link;
    struct watch_place **wd = wd_bucket(places, p->wd);
    while (*wd != p) {
        wd = &(*wd)->next_by_wd;
    }
    *wd = p->next_by_wd;
    *link = p->next;
    shares_remove(&places->shares, p->owner, p->session[0] != '\0');
    free(p);
}

static bool place_is_below(const struct watch_place *p, unsigned root,
                           const char *session)
{
    size_t len = strlen(session);
    return p->root == root && strncmp(p->session, session, len) == 0 &&
           (len == 0 || p->session[len] == '\0' || p->session[len] == '/');
}

void watch_places_remove_below(struct watch_places *places, unsigned root,
                               const char *session,
                               void (*unwatch)(void *arg, struct watch_place *place),
                               void *arg)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch_place **link = &places->by_name[i]; *link;) {
            if (place_is_below(*link, root, session)) {
                unwatch(arg, *link);
                watch_places_remove(places, link);
            } else {
                link = &(*link)->next;
            }
        }
    }
}

void watch_place_list_free(struct watch_place *first)
{
    while (first) {
        struct watch_place *p = first;
        first = p->next;
        free(p);
    }
}

void watch_places_free(struct watch_places *places)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        watch_place_list_free(places->by_name[i]);
    }
    shares_close(&places->shares);
}

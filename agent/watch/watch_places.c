/* SPDX-License-Identifier: Apache-2.0 */
/* Three hash tables over the same places. */
#include "agent/watch/watch_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"

#define UIDS_OF_ONE 65536u
/* Each takes some 1.5 KiB, most of it the kernel's. */
#define WATCHES_MAX   16384u
#define WATCHES_LIMIT "/proc/sys/fs/inotify/max_user_watches"

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

void watch_place_find_owner(struct watch_place *p, const char *path)
{
    struct stat st;
    if (!p->session[0]) {
        p->owner = WATCH_ROOTS;
    } else if (lstat(path, &st) < 0) {
        p->owner = WATCH_UNKNOWN;
    } else if (st.st_uid < UIDS_OF_ONE) {
        p->owner = st.st_uid;
    } else { /* subordinate ids are a user's, in blocks */
        p->owner = st.st_uid / UIDS_OF_ONE * UIDS_OF_ONE;
    }
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

/* Half of what the kernel grants: others of the same user need some, too. */
unsigned watch_places_max(void)
{
    unsigned granted = 0;
    FILE *file = fopen(WATCHES_LIMIT, "re");
    if (file) {
        granted = fscanf(file, "%u", &granted) == 1 ? granted : 0;
        fclose(file);
    }
    return granted && granted / 2 < WATCHES_MAX ? granted / 2 : WATCHES_MAX;
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

static struct watch_place **group_bucket(struct watch_places *places, unsigned root,
                                         const char *session, size_t len)
{
    char group[WATCH_SESSION_MAX];
    snprintf(group, sizeof group, "%.*s", (int)len, session);
    return &places->by_group[hash_text(root, group) % WATCH_BUCKETS];
}

static void link_in_group(struct watch_places *places, struct watch_place *p)
{
    const char *slash = strchr(p->session, '/');
    if (!slash) {
        p->group_link = NULL;
        return;
    }
    struct watch_place **link =
        group_bucket(places, p->root, p->session, (size_t)(slash - p->session));
    p->group_link = link;
    p->next_in_group = *link;
    if (*link) {
        (*link)->group_link = &p->next_in_group;
    }
    *link = p;
}

static void unlink_in_group(struct watch_place *p)
{
    if (p->group_link) {
        *p->group_link = p->next_in_group;
    }
    if (p->group_link && p->next_in_group) {
        p->next_in_group->group_link = p->group_link;
    }
}

bool watch_places_have_room(const struct watch_places *places,
                            const struct watch_place *p)
{
    uint64_t as_much = p->group ? shares_of(&places->shares, p->owner) : 0;
    return shares_have_room(&places->shares, p->owner, 1 + as_much);
}

void watch_places_insert(struct watch_places *places, struct watch_place *p)
{
    struct watch_place **name = watch_places_link(places, p->root, p->session);
    struct watch_place **wd = wd_bucket(places, p->wd);
    p->next = *name;
    *name = p;
    p->next_by_wd = *wd;
    *wd = p;
    link_in_group(places, p);
    shares_add(&places->shares, p->owner, p->session[0] != '\0');
}

struct watch_place *watch_places_remove(struct watch_places *places,
                                        struct watch_place **link)
{
    struct watch_place *p = *link;
    struct watch_place **wd = wd_bucket(places, p->wd);
    while (*wd != p) {
        wd = &(*wd)->next_by_wd;
    }
    *wd = p->next_by_wd;
    *link = p->next;
    unlink_in_group(p);
    shares_remove(&places->shares, p->owner, p->session[0] != '\0');
    return p;
}

static bool place_is_in(const struct watch_place *p, unsigned root, const char *group)
{
    size_t len = strlen(group);
    return p->root == root && strncmp(p->session, group, len) == 0 &&
           p->session[len] == '/';
}

static unsigned remove_root(struct watch_places *places, unsigned root,
                            void (*unwatch)(void *arg, struct watch_place *place),
                            void *arg)
{
    unsigned looked_at = 0;
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        for (struct watch_place **link = &places->by_name[i]; *link; looked_at++) {
            if ((*link)->root == root) {
                unwatch(arg, watch_places_remove(places, link));
            } else {
                link = &(*link)->next;
            }
        }
    }
    return looked_at;
}

unsigned watch_places_remove_below(struct watch_places *places, unsigned root,
                                   const char *session,
                                   void (*unwatch)(void *arg, struct watch_place *place),
                                   void *arg)
{
    unsigned looked_at = 0;
    if (!session[0]) {
        return remove_root(places, root, unwatch, arg);
    }
    struct watch_place **link = watch_places_link(places, root, session);
    if (*link) {
        unwatch(arg, watch_places_remove(places, link));
    }
    struct watch_place *p = *group_bucket(places, root, session, strlen(session));
    for (struct watch_place *next; p; p = next, looked_at++) {
        next = p->next_in_group;
        if (place_is_in(p, root, session)) {
            struct watch_place **named = watch_places_link(places, root, p->session);
            unwatch(arg, watch_places_remove(places, named));
        }
    }
    return looked_at;
}

void watch_place_list_free(struct watch_place *first)
{
    while (first) {
        struct watch_place *p = first;
        first = p->next;
        free(p);
    }
}

void watch_place_list_drop(struct watch_place **first, unsigned root)
{
    for (struct watch_place **link = first; *link;) {
        struct watch_place *p = *link;
        if (p->root == root) {
            *link = p->next;
            free(p);
        } else {
            link = &p->next;
        }
    }
}

void watch_places_free(struct watch_places *places)
{
    for (size_t i = 0; i < WATCH_BUCKETS; i++) {
        watch_place_list_free(places->by_name[i]);
    }
    shares_close(&places->shares);
}

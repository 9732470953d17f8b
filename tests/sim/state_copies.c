/* SPDX-License-Identifier: Apache-2.0 */
/* Copies state directories, as people and backups do. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/layout.h"
#include "tests/sim/kernel.h"
#include "tests/sim/world.h"

/* The directory that holds it, and its name there. */
static struct inode *state_above(const struct world *world, const struct uploader *u,
                                 const char **name)
{
    const char *path = u->config.state_dir;
    *name = path ? strrchr(path, '/') + 1 : LAYOUT_STATE_DIR;
    return path ? inode_look(inode_root(), "var") : world->logs;
}

struct inode *world_copy_tree(const struct inode *from)
{
    struct inode *to = inode_make(from->mode, from->uid);
    if (S_ISREG(from->mode) && from->have) {
        inode_write(to, 0, from->data, from->have);
    }
    if (S_ISREG(from->mode)) {
        inode_resize(to, from->size - from->hidden);
    }
    for (unsigned i = 0; i < from->names; i++) {
        inode_link(to, from->name[i].name, world_copy_tree(from->name[i].inode));
    }
    inode_sync(to);
    return to;
}

struct inode *world_state_copy(const struct world *world, const struct uploader *u)
{
    const char *name;
    struct inode *above = state_above(world, u, &name);
    const struct inode *dir = inode_look(above, name);
    return dir ? world_copy_tree(dir) : NULL;
}

#define HEADER_BYTES 24 /* and the path of the root */

void world_flip_state(const struct world *world, const struct uploader *u, uint32_t bit)
{
    const char *name;
    struct inode *above = state_above(world, u, &name);
    const struct inode *dir = inode_look(above, name);
    for (unsigned i = 0; dir && i < dir->names; i++) {
        struct inode *file = dir->name[i].inode;
        size_t at = bit / 8 % (HEADER_BYTES + strlen(world->path));
        if (strstr(dir->name[i].name, "journal") && at < file->have) {
            file->data[at] = (char)(file->data[at] ^ 1 << bit % 8);
            inode_sync(file);
        }
    }
}

void world_empty_state(const struct world *world, const struct uploader *u)
{
    const char *name;
    struct inode *above = state_above(world, u, &name);
    struct inode *dir = inode_look(above, name);
    while (dir && dir->mode & 022 && dir->names) {
        inode_unlink(dir, dir->name[0].name);
    }
}

void world_close_state(const struct world *world)
{
    for (unsigned i = 0; i < UPLOADERS; i++) {
        const char *name;
        struct inode *above = state_above(world, &world->uploader[i], &name);
        struct inode *dir = inode_look(above, name);
        if (dir) {
            dir->mode &= ~022u;
        }
    }
}

void world_put_state(struct world *world, const struct uploader *u, struct inode *from)
{
    const char *name;
    struct inode *above = state_above(world, u, &name);
    if (from) {
        inode_link(above, name, world_copy_tree(from));
    } else if (u->config.state_dir) {
        inode_link(above, name, inode_make(S_IFDIR | 0700, u->uid));
    } else if (inode_look(above, name)) {
        inode_unlink(above, name);
    }
    inode_sync(above);
}

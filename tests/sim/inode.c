/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the files of a world, and what of them is on its disk. */
#include "tests/sim/inode.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/pick.h"

#define GRANULARITY_MS 4

static struct {
    struct inode *all, *root;
    unsigned last;
    int64_t now_ms;
} inodes;

struct inode *inode_make(mode_t mode, uid_t uid)
{
    struct inode *inode = calloc(1, sizeof *inode);
    inode->next = inodes.all;
    inodes.all = inode;
    inode->number = ++inodes.last;
    inode->mode = mode;
    inode->uid = uid;
    inode->device = 1;
    inode->modified_ms = inode->changed_ms = inode->born_ms = inodes.now_ms;
    return inode;
}

void inode_begin(void)
{
    inodes.last = 0;
    inodes.root = inode_make(S_IFDIR | 0755, 0);
    inodes.root->parent = inodes.root;
}

void inode_end(void)
{
    while (inodes.all) {
        struct inode *inode = inodes.all;
        inodes.all = inode->next;
        free(inode->data);
        free(inode->safe);
        free(inode->name);
        free(inode->undo);
        free(inode);
    }
}

struct inode *inode_root(void)
{
    return inodes.root;
}

void inode_set_time(int64_t ms)
{
    inodes.now_ms = ms - ms % GRANULARITY_MS;
}

void inode_touch(struct inode *inode)
{
    inode->modified_ms = inode->changed_ms = inodes.now_ms;
}

static unsigned inode_index(const struct inode *dir, const char *name)
{
    unsigned i = 0;
    while (i < dir->names &&
           (dir->name[i].name[0] != name[0] || strcmp(dir->name[i].name, name) != 0)) {
        i++;
    }
    return i;
}

struct inode *inode_look(const struct inode *dir, const char *name)
{
    unsigned i = inode_index(dir, name);
    return i < dir->names ? dir->name[i].inode : NULL;
}

static void put_name(struct inode_name **list, unsigned *count, unsigned *room,
                     const char *name, struct inode *inode)
{
    if (*count == *room) {
        *room = *room ? *room * 2 : 8;
        *list = realloc(*list, *room * sizeof **list);
    }
    struct inode_name *slot = &(*list)[(*count)++];
    size_t len = strnlen(name, sizeof slot->name - 1);
    memcpy(slot->name, name, len);
    slot->name[len] = '\0';
    slot->inode = inode;
    slot->with_one_before = false;
}

/* Without a note for the power failure. */
static void set_name(struct inode *dir, const char *name, struct inode *inode)
{
    unsigned i = inode_index(dir, name);
    if (i < dir->names) {
        dir->name[i].inode->links--;
        dir->name[i].inode->changed_ms = inodes.now_ms;
        dir->name[i] = dir->name[--dir->names];
    }
    if (inode) {
        put_name(&dir->name, &dir->names, &dir->name_room, name, inode);
        inode->links++;
        inode->changed_ms = inodes.now_ms;
        if (S_ISDIR(inode->mode)) {
            inode->parent = dir;
        }
    }
    inode_touch(dir);
}

static void change_name(struct inode *dir, const char *name, struct inode *inode)
{
    struct inode *before = inode_look(dir, name);
    put_name(&dir->undo, &dir->undos, &dir->undo_room, name, before);
    set_name(dir, name, inode);
}

void inode_link(struct inode *dir, const char *name, struct inode *inode)
{
    change_name(dir, name, inode);
}

void inode_unlink(struct inode *dir, const char *name)
{
    change_name(dir, name, NULL);
}

void inode_rename(struct inode *from, const char *old, struct inode *to, const char *new)
{
    struct inode *inode = inode_look(from, old);
    change_name(to, new, inode);
    change_name(from, old, NULL);
    from->undo[from->undos - 1].with_one_before = from == to;
    if (from != to) {
        from->undos = to->undos = 0; /* both or none: here, both, and on disk at once */
    }
    if (S_ISDIR(inode->mode)) {
        inode->parent = to;
    }
}

size_t inode_read(const struct inode *inode, uint64_t at, char *buf, size_t len)
{
    if (at >= inode->size) {
        return 0;
    }
    len = len < inode->size - at ? len : (size_t)(inode->size - at);
    size_t there = at < inode->have ? inode->have - (size_t)at : 0;
    there = there < len ? there : len;
    if (there) {
        memcpy(buf, inode->data + at, there);
    }
    memset(buf + there, 0, len - there);
    return len;
}

static void have_room(struct inode *inode, size_t end)
{
    if (end > inode->room) {
        inode->room = end < 512 ? 1024 : end * 2;
        inode->data = realloc(inode->data, inode->room);
    }
    if (end > inode->have) {
        memset(inode->data + inode->have, 0, end - inode->have);
        inode->have = end;
    }
}

void inode_write(struct inode *inode, uint64_t at, const char *buf, size_t len)
{
    if (len) {
        have_room(inode, (size_t)at + len);
        memcpy(inode->data + at, buf, len);
    }
    inode->size = inode->size > at + len ? inode->size : at + len;
    inode->last_bytes = len;
    inode_touch(inode);
}

void inode_resize(struct inode *inode, uint64_t size)
{
    inode->hidden = 0;
    inode->size = size;
    inode->have = inode->have < size ? inode->have : (size_t)size;
    inode->dropped = inode->dropped && size > 0; /* its pages will be other ones */
    inode_touch(inode);
}

void inode_sync(struct inode *inode)
{
    inode->undos = 0;
    if (S_ISREG(inode->mode) && !inode->dropped) {
        inode->safe = realloc(inode->safe, inode->have + 1);
        if (inode->have) {
            memcpy(inode->safe, inode->data, inode->have);
        }
        inode->safe_have = inode->have;
        inode->safe_size = inode->size;
    }
}

void inode_sync_all(void)
{
    for (struct inode *inode = inodes.all; inode; inode = inode->next) {
        inode_sync(inode);
    }
}

void inode_drop_pages(struct inode *inode)
{
    inode->dropped = S_ISREG(inode->mode);
}

/* As it was synced, or longer by some of the bytes that were not, which are zeros from
 * some place on. */
static void lose_bytes(struct inode *inode)
{
    uint64_t grown = inode->size > inode->safe_size ? inode->size - inode->safe_size : 0;
    uint64_t size = inode->safe_size + (pick(3) ? grown : grown ? pick(grown) : 0);
    uint64_t whole =
        pick(3) ? size : inode->safe_size + pick(size - inode->safe_size + 1);
    uint64_t from = inode->safe_size;
    char *now = inode->data;
    size_t have = inode->have < whole ? inode->have : (size_t)whole;
    size_t keep = from < inode->safe_have ? (size_t)from : inode->safe_have;
    inode->data = calloc(1, have + keep + 1);
    inode->room = have + keep + 1;
    if (have > from) {
        memcpy(inode->data + from, now + from, have - (size_t)from);
    }
    if (keep) {
        memcpy(inode->data, inode->safe, keep);
    }
    inode->have = have > keep ? have : keep;
    inode->size = size;
    free(now);
}

static void power_failure_of(struct inode *inode)
{
    inode->dropped = false;
    if (S_ISDIR(inode->mode)) {
        uint64_t keep = inode->undos ? pick(inode->undos + 1) : 0;
        for (bool more = false; inode->undos > keep || more;) {
            const struct inode_name *undo = &inode->undo[--inode->undos];
            set_name(inode, undo->name, undo->inode);
            more = undo->with_one_before;
        }
    } else if (S_ISREG(inode->mode) && pick(4)) {
        lose_bytes(inode);
    }
    inode_sync(inode); /* a reboot starts from the disk */
}

void inode_power_failure(void)
{
    for (struct inode *inode = inodes.all; inode; inode = inode->next) {
        power_failure_of(inode);
    }
}

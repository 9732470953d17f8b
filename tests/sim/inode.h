/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories of a world, in memory, and what of them a power failure leaves:
 * contents that were synced, names of directories that were synced, and by chance some of
 * the rest. */
#ifndef GPUFL_TESTS_SIM_INODE_H
#define GPUFL_TESTS_SIM_INODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define INODE_NAME_MAX 256

struct inode;

/** A name in a directory; in `undo`, what it was before a change that is not synced. */
struct inode_name {
    char name[INODE_NAME_MAX];
    struct inode *inode;  /**< NULL in `undo` = there was none */
    bool with_one_before; /**< in `undo`: the two happened at once */
};

struct inode {
    struct inode *next; /**< all of the world */
    unsigned number;
    mode_t mode; /**< with its type */
    uid_t uid;
    unsigned links;
    int64_t modified_ms, changed_ms, born_ms;
    uint64_t device;
    /* Of a file. Bytes behind `have` are zero. */
    char *data;
    size_t have, room;
    uint64_t size;
    uint64_t hidden;     /**< at its end: a write that others see half done */
    uint64_t last_bytes; /**< of the last write */
    char *safe;          /**< as synced */
    size_t safe_have;
    uint64_t safe_size;
    bool dropped; /**< a sync failed: the kernel has dropped the pages, and later syncs
                       say nothing */
    /* Of a directory. */
    struct inode *parent;
    struct inode_name *name;
    unsigned names, name_room;
    struct inode_name *undo;
    unsigned undos, undo_room;
    int proc_fds; /**< a directory of /proc that shows the descriptors of this process */
};

/** Begins a world with an empty root directory; ends it. */
void inode_begin(void);
void inode_end(void);
struct inode *inode_root(void);

/** The time that changes get, which has the granularity of a kernel's. */
void inode_set_time(int64_t ms);

struct inode *inode_make(mode_t mode, uid_t uid);

/** \return what \p name is in \p dir, or NULL. */
struct inode *inode_look(const struct inode *dir, const char *name);
void inode_link(struct inode *dir, const char *name, struct inode *inode);
void inode_unlink(struct inode *dir, const char *name);
void inode_rename(struct inode *from, const char *old, struct inode *to, const char *new);

size_t inode_read(const struct inode *inode, uint64_t at, char *buf, size_t len);
void inode_write(struct inode *inode, uint64_t at, const char *buf, size_t len);
void inode_resize(struct inode *inode, uint64_t size);
void inode_touch(struct inode *inode);

/** Its contents, or its names, survive a power failure from now on. */
void inode_sync(struct inode *inode);
void inode_sync_all(void);
/** A sync of it fails. */
void inode_drop_pages(struct inode *inode);
/** The power fails: of what was not synced, something is left. */
void inode_power_failure(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a world: processes, their descriptors and locks, the clock, and faults.
 * The calls of the C library that the product makes lead here (calls_*.c), so a process
 * of a world is a number, and all of them run in one thread. */
#ifndef GPUFL_TESTS_SIM_KERNEL_H
#define GPUFL_TESTS_SIM_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/sim/inode.h"

#define KERNEL_PROCESSES_MAX 4096
#define KERNEL_FD_FIRST      1000 /* lower ones are of the simulator's own process */
#define KERNEL_FDS_MAX       1024
#define KERNEL_RULES_MAX     256

struct kernel_process {
    bool alive;
    uid_t uid;
    unsigned host;
    unsigned fault_percent;
    uint64_t calls_left; /**< it is killed by its last one; 0 = no end */
    uint64_t pause_left; /**< at the last one, it waits for pause_ms; 0 = it does not */
    uint64_t pause_ms;
    unsigned pause_fails; /**< of the calls from that one on that can fail, so many do */
    bool paused;
    unsigned fails_next;
    const struct inode *rules; /**< the Landlock rules that it obeys; NULL = none */
};

/** A Landlock rule: what it allows below a directory, or with a file. */
struct kernel_rule {
    const struct inode *rules; /**< that it is one of */
    const struct inode *below;
    uint64_t access;
};

/** What descriptors refer to. */
struct kernel_open {
    struct inode *inode;
    int flags;
    uint64_t at;
    unsigned refs;
    int pid;
    int flock;       /**< LOCK_SH, LOCK_EX; 0 = none */
    bool write_lock; /**< an open file description lock on all of it */
    bool listed;     /**< `list` was made */
    char (*list)[INODE_NAME_MAX];
    unsigned names;
    char path[INODE_NAME_MAX];
};

struct kernel {
    uint64_t now_ms; /**< since the world began */
    uint64_t boot_ms;
    unsigned boots;
    int64_t wall_step_s;
    bool far; /**< the file system is another host's: locks are not seen by other hosts */
    bool full;                                /**< no byte more */
    const char *hung;                         /**< a call that would never return */
    size_t tree_bytes;                        /**< the most that a parsed text took */
    int self;                                 /**< who makes calls; 0 = nobody */
    void (*let_pass)(void *arg, uint64_t ms); /**< what others do meanwhile */
    void *let_pass_arg;
    int last_pid;
    struct kernel_process process[KERNEL_PROCESSES_MAX];
    struct kernel_open *fd[KERNEL_FDS_MAX];
    int fd_pid[KERNEL_FDS_MAX];
    int fd_end; /**< behind the last that was ever used */
    struct kernel_rule rule[KERNEL_RULES_MAX];
    unsigned rules;
    uint64_t random;
    uint64_t calls;
};

extern struct kernel kernel;

void kernel_begin(uint64_t seed);
void kernel_end(void);

/** \return the pid of a new process. */
int kernel_spawn(uid_t uid, unsigned host);
/** \return the pid of its child, which does nothing but have its descriptors, too. */
int kernel_fork(int parent);
/** Its descriptors and locks are gone, and its calls do nothing. */
void kernel_kill(int pid);
bool kernel_is_alive(int pid);
struct kernel_process *kernel_self(void);

void kernel_advance(uint64_t ms);
int64_t kernel_wall_ms(void);
uint64_t kernel_random(void);

/** All processes are killed, and the disk is what a power failure leaves. */
void kernel_power_failure(void);

/** To be called first in each call. \return false if its process is gone, or was killed
 * by this call: then it fails, with errno. */
bool kernel_may(void);
/** \return true if this call shall fail. */
bool kernel_fails(void);
int kernel_refuse(int error);
/** Fails as a disk without room does, or as a broken one. */
int kernel_no_room(void);

/** \return what \p fd refers to; NULL with errno. */
struct kernel_open *kernel_of(int fd);
/** \return a new descriptor. */
int kernel_open(struct inode *inode, int flags, const char *path);
int kernel_dup(int fd);
void kernel_close(int fd);
/** Makes the list of names, once, in an order of its own. */
void kernel_list(struct kernel_open *open);

/** \return true if another description has a lock that \p open would conflict with. */
bool kernel_flock_conflicts(const struct kernel_open *open, bool exclusive);
const struct kernel_open *kernel_write_lock(const struct kernel_open *open);

/** \return the directory in which \p path ends, whose last component is copied to \p
 * last; NULL with errno. "" in \p last: the directory itself. */
struct inode *kernel_walk(int dir, const char *path, char last[INODE_NAME_MAX]);
/** \return what \p path is; NULL with errno. */
struct inode *kernel_find(int dir, const char *path);

#endif

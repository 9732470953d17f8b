/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's Landlock calls, https://docs.kernel.org/userspace-api/landlock.html. They
 * and their constants are written out: headers of many systems are older than their
 * kernel. */
#ifndef GPUFL_AGENT_LANDLOCK_H
#define GPUFL_AGENT_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define LANDLOCK_READ_FILE   (UINT64_C(1) << 2)
#define LANDLOCK_READ_DIR    (UINT64_C(1) << 3)
#define LANDLOCK_WRITE_FILE  (UINT64_C(1) << 1)
#define LANDLOCK_REMOVE_DIR  (UINT64_C(1) << 4)
#define LANDLOCK_REMOVE_FILE (UINT64_C(1) << 5)
#define LANDLOCK_MAKE_DIR    (UINT64_C(1) << 7)
#define LANDLOCK_MAKE_FILE   (UINT64_C(1) << 8)
#define LANDLOCK_REFER       (UINT64_C(1) << 13)
#define LANDLOCK_TRUNCATE    (UINT64_C(1) << 14)
/** Read below a directory; read and write there. */
#define LANDLOCK_READ (LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define LANDLOCK_WRITE                                                                   \
    (LANDLOCK_READ | LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE |  \
     LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_FILE | LANDLOCK_REFER | LANDLOCK_TRUNCATE)

#define LANDLOCK_BIND    (UINT64_C(1) << 0)
#define LANDLOCK_CONNECT (UINT64_C(1) << 1)

/** The first version that confines connections, Linux 6.7. */
#define LANDLOCK_VERSION_WITH_PORTS 4

#define LANDLOCK_PORTS_MAX 4u

/** A set of rules under construction. */
struct landlock {
    int ruleset;
    int version;
    uint64_t known;                    /**< accesses to files that this kernel knows */
    uint16_t port[LANDLOCK_PORTS_MAX]; /**< that may be connected to */
    unsigned ports;
};

/** The kernel's version of Landlock, below 1 = none. */
int landlock_version(void);

/** Begins rules that forbid everything not allowed below. \return 0 or -1 with errno. */
int landlock_open(int version, struct landlock *out);

/** Allows \p access to what \p fd is, and below it. */
void landlock_allow_fd(const struct landlock *rules, int fd, uint64_t access);

/** Allows \p access to \p path. \return false when there is no such path. */
bool landlock_allow_path(const struct landlock *rules, const char *path, uint64_t access);

/** Allows LANDLOCK_BIND or LANDLOCK_CONNECT to a TCP port. */
void landlock_allow_port(struct landlock *rules, uint16_t port, uint64_t access);

/** Applies the rules to this thread and those that it starts. \return 0 or -1 with errno.
 */
int landlock_apply(const struct landlock *rules);

void landlock_close(struct landlock *rules);

#endif

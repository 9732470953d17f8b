/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the three system calls. */
#include "agent/landlock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define ACCESS_OF_A_FILE (LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE)
#define SCOPE_ABSTRACT   (UINT64_C(1) << 0)
#define SCOPE_SIGNAL     (UINT64_C(1) << 1)
#define RULE_PATH        1
#define RULE_PORT        2
#define ASK_FOR_VERSION  1u

struct ruleset_attr {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

struct port_rule {
    uint64_t allowed;
    uint64_t port;
};

int landlock_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_FOR_VERSION);
}

/* No signals to others, no abstract sockets of others: unless one is systemd's. */
static uint64_t landlock_scopes(void)
{
    const char *notify = getenv("NOTIFY_SOCKET");
    return notify && *notify == '@' ? SCOPE_SIGNAL : SCOPE_SIGNAL | SCOPE_ABSTRACT;
}

int landlock_open(int version, struct landlock *out)
{
    /* Kinds of access by version, from 2 on: 14, +TRUNCATE, 4, +IOCTL_DEV. */
    static const unsigned kinds[] = {0, 0, 14, 15, 15, 16};
    *out = (struct landlock){.version = version};
    out->known = (UINT64_C(1) << kinds[version < 5 ? version : 5]) - 1;
    bool ports = version >= LANDLOCK_VERSION_WITH_PORTS;
    struct ruleset_attr attr = {.fs = out->known,
                                .net = ports ? LANDLOCK_BIND | LANDLOCK_CONNECT : 0,
                                .scoped = version >= 6 ? landlock_scopes() : 0};
    size_t size = version >= 6 ? sizeof attr
                  : ports      ? offsetof(struct ruleset_attr, scoped)
                               : offsetof(struct ruleset_attr, net);
    out->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    return out->ruleset < 0 ? -1 : 0;
}

void landlock_allow_fd(const struct landlock *l, int fd, uint64_t access)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
        access &= ACCESS_OF_A_FILE;
    }
    struct path_rule rule = {.allowed = access & l->known, .fd = fd};
    syscall(SYS_landlock_add_rule, l->ruleset, RULE_PATH, &rule, 0);
}

bool landlock_allow_path(const struct landlock *l, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    landlock_allow_fd(l, fd, access);
    close(fd);
    return true;
}

void landlock_allow_port(struct landlock *l, uint16_t port, uint64_t access)
{
    struct port_rule rule = {.allowed = access, .port = port};
    if (l->version < LANDLOCK_VERSION_WITH_PORTS) {
        return;
    }
    syscall(SYS_landlock_add_rule, l->ruleset, RULE_PORT, &rule, 0);
    if (access == LANDLOCK_CONNECT && l->ports < LANDLOCK_PORTS_MAX) {
        l->port[l->ports++] = port;
    }
}

int landlock_apply(const struct landlock *l)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0) {
        return -1;
    }
    return (int)syscall(SYS_landlock_restrict_self, l->ruleset, 0);
}

void landlock_close(struct landlock *l)
{
    close(l->ruleset);
    l->ruleset = -1;
}

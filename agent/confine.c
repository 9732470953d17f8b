/* SPDX-License-Identifier: Apache-2.0 */
/* The calls and constants are written out: headers of many systems are older than their
 * kernel. */
#include "agent/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/token.h"
#include "base/address.h"
#include "schema/layout.h"
#include "upload/journal/state_dir.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_READ_FILE   (UINT64_C(1) << 2)
#define FS_READ_DIR    (UINT64_C(1) << 3)
#define FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_DIR    (UINT64_C(1) << 7)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_REFER       (UINT64_C(1) << 13)
#define FS_TRUNCATE    (UINT64_C(1) << 14)
#define FS_READ        (FS_READ_FILE | FS_READ_DIR)
#define FS_WRITE                                                                         \
    (FS_READ | FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |            \
     FS_MAKE_REG | FS_REFER | FS_TRUNCATE)
#define FS_OF_A_FILE    (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)
#define NET_BIND        (UINT64_C(1) << 0)
#define NET_CONNECT     (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT  (UINT64_C(1) << 0)
#define SCOPE_SIGNAL    (UINT64_C(1) << 1)
#define RULE_PATH       1
#define RULE_PORT       2
#define ASK_FOR_VERSION 1u
#define PORTS_MAX       4u

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

struct confinement {
    int ruleset;
    int abi;
    uint64_t fs; /* what this kernel knows */
    uint16_t port[PORTS_MAX];
    unsigned ports;
};

/* ---- paths ---- */

static void allow_fd(const struct confinement *c, int fd, uint64_t allowed)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
        allowed &= FS_OF_A_FILE;
    }
    struct path_rule rule = {.allowed = allowed & c->fs, .fd = fd};
    syscall(SYS_landlock_add_rule, c->ruleset, RULE_PATH, &rule, 0);
}

/* What is not there needs no rule. */
static bool allow(const struct confinement *c, const char *path, uint64_t allowed)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    allow_fd(c, fd, allowed);
    close(fd);
    return true;
}

/* Kubernetes swaps a link beside a secret, others rename a new file over the old one. */
static void allow_neighbours(const struct confinement *c, const char *file)
{
    char path[PATH_MAX];
    char *real = realpath(file, NULL);
    snprintf(path, sizeof path, "%s", file);
    char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        *slash = '\0';
    }
    allow(c, slash ? path : ".", FS_READ);
    if (real) {
        *strrchr(real, '/') = '\0';
        allow(c, *real ? real : file, FS_READ); /* in /: the file, not everything */
    }
    free(real);
}

/* The lock of the directory above is looked at, and who holds it; nothing else there. */
static void allow_parent(const struct confinement *c, const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/..", root);
    allow(c, path, FS_READ_DIR);
    snprintf(path, sizeof path, "%s/../" LAYOUT_STATE_DIR, root);
    allow(c, path, FS_READ);
}

/* Then the engine makes it there, and what is below the root is allowed anyway. */
static bool may_lie_in(int root)
{
    struct stat st;
    return fstat(root, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) &&
           faccessat(root, ".", W_OK, AT_EACCESS) == 0;
}

/* As the engine will choose it. */
static void allow_state(const struct confinement *c, const struct options *o,
                        const char *root)
{
    char name[STATE_NAME_MAX];
    char why[512];
    int dir;
    const char *systemd = getenv("STATE_DIRECTORY");
    bool named = (o->state_dir && *o->state_dir) || (systemd && *systemd);
    bool on_disk = o->state == 0;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = realpath(root, NULL);
    if (path) {
        allow_parent(c, path);
    }
    if (fd >= 0 && path &&
        state_dir_open(o->state_dir, fd, path, on_disk && (named || !may_lie_in(fd)),
                       &dir, name, why) == GPUFL_OK) {
        allow_fd(c, dir, FS_WRITE);
        close(dir);
    }
    free(path);
    close(fd);
}

/* One that is not there yet is made below a directory that is. \return false when that is
 * the whole file system. */
static bool allow_folder(const struct confinement *c, const struct options *o, char *path)
{
    allow_state(c, o, path);
    while (!allow(c, path, FS_WRITE)) {
        char *slash = strrchr(path, '/');
        if (slash == path) {
            return false;
        }
        if (!slash) {
            return allow(c, ".", FS_WRITE);
        }
        *slash = '\0';
    }
    return true;
}

static bool allow_folders(const struct confinement *c, const struct options *o,
                          const char *list)
{
    char path[PATH_MAX];
    bool ok = true;
    while (ok && list && *list) {
        size_t len = strcspn(list, ",");
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        ok = len == 0 || allow_folder(c, o, path);
        list += len + (list[len] == ',');
    }
    return ok;
}

/* What name lookups and TLS read. All of /etc where that holds no secrets for us: a
 * resolv.conf that is replaced is another file. */
static void allow_system(const struct confinement *c)
{
    static const char *const read[] = {"/usr/lib",
                                       "/lib",
                                       "/lib64",
                                       "/usr/lib64",
                                       "/etc/ssl",
                                       "/etc/pki",
                                       "/etc/ca-certificates",
                                       "/usr/share/ca-certificates",
                                       "/usr/local/share/ca-certificates",
                                       "/etc/hosts",
                                       "/etc/resolv.conf",
                                       "/etc/nsswitch.conf",
                                       "/etc/host.conf",
                                       "/etc/gai.conf",
                                       "/etc/ld.so.cache",
                                       "/etc/localtime",
                                       "/usr/share/zoneinfo",
                                       "/run/systemd/resolve",
                                       "/run/resolvconf",
                                       "/run/NetworkManager",
                                       "/dev/urandom",
                                       "/proc/self",
                                       "/proc/sys/kernel/random",
                                       "/proc/sys/fs/inotify"};
    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) {
        allow(c, read[i], FS_READ);
    }
    if (geteuid() != 0) {
        allow(c, "/etc", FS_READ);
    }
    allow_neighbours(c, "/etc/ssl/certs/ca-certificates.crt"); /* it may be a link */
    allow(c, "/dev/null", FS_READ_FILE | FS_WRITE_FILE);
}

static void allow_own_files(const struct confinement *c, const struct options *o)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    const char *trusted = getenv("SSL_CERT_FILE");
    const char *const file[] = {o->token_file, o->ca_file,     o->client_cert,
                                o->client_key, o->cursor_file, o->config_file,
                                trusted};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        if (file[i] && *file[i]) {
            allow_neighbours(c, file[i]);
        }
    }
    if (credentials) {
        allow(c, credentials, FS_READ);
    }
}

/* ---- ports ---- */

static void allow_port(struct confinement *c, uint64_t port, uint64_t allowed)
{
    struct port_rule rule = {.allowed = allowed, .port = port};
    if (c->abi < 4) {
        return;
    }
    syscall(SYS_landlock_add_rule, c->ruleset, RULE_PORT, &rule, 0);
    if (allowed == NET_CONNECT && c->ports < PORTS_MAX) {
        c->port[c->ports++] = (uint16_t)port;
    }
}

/* Of scheme://[user@]host[:port][/…]; without a port that of the scheme. */
static uint16_t port_of(const char *url, uint16_t fallback)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url;
    size_t len = strcspn(host, "/?#");
    const char *colon = memrchr(host, ':', len);
    const char *bracket = memrchr(host, ']', len);
    if (strncasecmp(url, "https://", 8) == 0) {
        fallback = 443;
    }
    unsigned long port =
        colon && (!bracket || colon > bracket) ? strtoul(colon + 1, NULL, 10) : fallback;
    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : fallback;
}

static void allow_ports(struct confinement *c, const struct options *o)
{
    static const char *const env[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                      "ALL_PROXY"};
    struct address listen;
    allow_port(c, port_of(o->host ? o->host : "", 80), NET_CONNECT);
    if (o->proxy && *o->proxy) {
        allow_port(c, port_of(o->proxy, 1080), NET_CONNECT);
    }
    for (size_t i = 0; i < sizeof env / sizeof env[0]; i++) {
        const char *proxy = getenv(env[i]);
        if (proxy && *proxy && (!o->proxy || !*o->proxy)) {
            allow_port(c, port_of(proxy, 1080), NET_CONNECT);
            break;
        }
    }
    allow_port(c, 53, NET_CONNECT);
    if (o->listen && *o->listen && !address_parse(o->listen, &listen)) {
        allow_port(c, listen.port, NET_BIND);
    }
}

/* ---- all of it ---- */

static gpufl_status not_done(const struct options *o, const char *reason, char said[512])
{
    bool required = o->landlock == CONFINE_REQUIRE;
    snprintf(said, 512, required ? "--landlock=require: %s" : "off, %s", reason);
    return required ? GPUFL_ERR_IO : GPUFL_OK;
}

static gpufl_status restrict_to(struct confinement *c, const struct options *o,
                                char said[512])
{
    if (!allow_folders(c, o, o->folder) || !allow_folders(c, o, o->folders)) {
        return not_done(o, "a folder is not there, nor any directory above it", said);
    }
    allow_system(c);
    allow_own_files(c, o);
    allow_ports(c, o);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0 ||
        syscall(SYS_landlock_restrict_self, c->ruleset, 0) < 0) {
        return not_done(o, strerror(errno), said);
    }
    int len = snprintf(said, 512, "on, version %d, ports", c->abi);
    for (unsigned i = 0; i < c->ports; i++) {
        len += snprintf(said + len, 512 - (size_t)len, " %u", c->port[i]);
    }
    if (c->abi < 4) {
        snprintf(said + len, 512 - (size_t)len, " all: the kernel is older than 6.7");
    }
    return GPUFL_OK;
}

/* No signals to others, no abstract sockets of others: unless one is systemd's. */
static uint64_t scopes(void)
{
    const char *notify = getenv("NOTIFY_SOCKET");
    return notify && *notify == '@' ? SCOPE_SIGNAL : SCOPE_SIGNAL | SCOPE_ABSTRACT;
}

gpufl_status confine(const struct options *o, char said[512])
{
    /* Kinds of access by version, from 2 on: 14, +TRUNCATE, 4, +IOCTL_DEV. */
    static const unsigned kinds[] = {0, 0, 14, 15, 15, 16};
    if (o->landlock == CONFINE_OFF) {
        snprintf(said, 512, "off, as asked");
        return GPUFL_OK;
    }
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_FOR_VERSION);
    if (abi <
        2) { /* the first one lets no file move between directories: --salvage does */
        return not_done(o, "the kernel has no Landlock (5.19, lsm=landlock)", said);
    }
    struct confinement c = {.abi = (int)abi};
    c.fs = (UINT64_C(1) << kinds[abi < 5 ? abi : 5]) - 1;
    struct ruleset_attr attr = {.fs = c.fs,
                                .net = abi >= 4 ? NET_BIND | NET_CONNECT : 0,
                                .scoped = abi >= 6 ? scopes() : 0};
    size_t size = abi >= 6 ? sizeof attr : abi >= 4 ? 2 * sizeof attr.fs : sizeof attr.fs;
    c.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (c.ruleset < 0) {
        return not_done(o, strerror(errno), said);
    }
    gpufl_status status = restrict_to(&c, o, said);
    close(c.ruleset);
    return status;
}

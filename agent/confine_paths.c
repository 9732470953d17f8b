/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for paths. What does not exist needs no rule. */
#include "agent/confine_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/layout.h"
#include "upload/journal/state_dir.h"

/* Kubernetes swaps a link beside a secret, others rename a new file over the old one. */
static void allow_neighbours(const struct landlock *rules, const char *file)
{
    char path[PATH_MAX];
    char *real = realpath(file, NULL);
    snprintf(path, sizeof path, "%s", file);
    char *slash = strrchr(path, '/');
    if (slash && slash != path) {
        *slash = '\0';
    }
    landlock_allow_path(rules, slash ? path : ".", LANDLOCK_READ);
    if (real) {
        *strrchr(real, '/') = '\0';
        landlock_allow_path(rules, *real ? real : file,
                            LANDLOCK_READ); /* in /: the file, not everything */
    }
    free(real);
}

/* The lock of the directory above is looked at, and who holds it; nothing else there. */
static void allow_parent(const struct landlock *rules, const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/..", root);
    landlock_allow_path(rules, path, LANDLOCK_READ_DIR);
    snprintf(path, sizeof path, "%s/../" LAYOUT_STATE_DIR, root);
    landlock_allow_path(rules, path, LANDLOCK_READ);
}

/* Then the engine makes it there, and what is below the root is allowed anyway. */
static bool may_lie_in(int root)
{
    struct stat st;
    return fstat(root, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) &&
           faccessat(root, ".", W_OK, AT_EACCESS) == 0;
}

/* As the engine will choose it. */
static void allow_state(const struct landlock *rules, const struct options *o,
                        const char *root)
{
    char name[STATE_NAME_MAX];
    char why[512];
    int dir;
    const char *systemd = getenv("STATE_DIRECTORY");
    bool named = (o->state_dir && *o->state_dir) || (systemd && *systemd);
    bool on_disk = o->state == STATE_ON_DISK;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = realpath(root, NULL);
    if (path) {
        allow_parent(rules, path);
    }
    if (fd >= 0 && path &&
        state_dir_open(o->state_dir, fd, path, on_disk && (named || !may_lie_in(fd)),
                       &dir, name, why) == GPUFL_OK) {
        landlock_allow_fd(rules, dir, LANDLOCK_WRITE);
        close(dir);
    }
    free(path);
    close(fd);
}

/* One that is not there yet is made below a directory that is. \return false when that is
 * the whole file system. */
static bool allow_folder(const struct landlock *rules, const struct options *o,
                         char *path)
{
    allow_state(rules, o, path);
    while (!landlock_allow_path(rules, path, LANDLOCK_WRITE)) {
        char *slash = strrchr(path, '/');
        if (slash == path) {
            return false;
        }
        if (!slash) {
            return landlock_allow_path(rules, ".", LANDLOCK_WRITE);
        }
        *slash = '\0';
    }
    return true;
}

static bool allow_folder_list(const struct landlock *rules, const struct options *o,
                              const char *list)
{
    char path[PATH_MAX];
    bool ok = true;
    while (ok && list && *list) {
        size_t len = strcspn(list, ",");
        snprintf(path, sizeof path, "%.*s", (int)len, list);
        ok = len == 0 || allow_folder(rules, o, path);
        list += len + (list[len] == ',');
    }
    return ok;
}

bool confine_allow_folders(const struct landlock *rules, const struct options *o)
{
    return allow_folder_list(rules, o, o->folder) &&
           allow_folder_list(rules, o, o->folders);
}

/* What name lookups and TLS read. All of /etc where that holds no secrets for us: a
 * resolv.conf that is replaced is another file. */
void confine_allow_system(const struct landlock *rules)
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
        landlock_allow_path(rules, read[i], LANDLOCK_READ);
    }
    if (geteuid() != 0) {
        landlock_allow_path(rules, "/etc", LANDLOCK_READ);
    }
    allow_neighbours(rules, "/etc/ssl/certs/ca-certificates.crt"); /* it may be a link */
    landlock_allow_path(rules, "/dev/null", LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE);
}

void confine_allow_own_files(const struct landlock *rules, const struct options *o)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    const char *trusted = getenv("SSL_CERT_FILE");
    const char *const file[] = {o->token_file, o->ca_file,     o->client_cert,
                                o->client_key, o->cursor_file, o->config_file,
                                trusted};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        if (file[i] && *file[i]) {
            allow_neighbours(rules, file[i]);
        }
    }
    if (credentials) {
        landlock_allow_path(rules, credentials, LANDLOCK_READ);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock rules for paths. What does not exist needs none. */
#include "agent/confine_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folders.h"
#include "schema/layout.h"
#include "upload/journal/state_dir.h"
#include "upload/published/run_dir.h"

/* Kubernetes replaces a link beside a secret, others rename a new file over the old one:
 * allow the directory. */
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
        /* Of a file in / allow the file, not everything. */
        landlock_allow_path(rules, *real ? real : file, LANDLOCK_READ);
    }
    free(real);
}

/* The engine reads the lock of the directory above, to find another agent; nothing else
 * there. */
static void allow_parent(const struct landlock *rules, const char *root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/..", root);
    landlock_allow_path(rules, path, LANDLOCK_READ_DIR);
    snprintf(path, sizeof path, "%s/../" LAYOUT_STATE_DIR, root);
    landlock_allow_path(rules, path, LANDLOCK_READ);
}

/* True if the engine will keep its state below the root, which is allowed anyway. */
static bool keeps_state_in(int root)
{
    struct stat st;
    return fstat(root, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022) &&
           faccessat(root, ".", W_OK, AT_EACCESS) == 0;
}

/* Allows the state directory that the engine will choose. That of a folder which does not
 * exist yet is below it, where a directory above is allowed, or elsewhere. */
static void allow_state(const struct landlock *rules, const struct options *o,
                        enum state_use use, const char *root)
{
    struct state_place place;
    char why[512];
    const char *systemd = getenv("STATE_DIRECTORY");
    bool named = (o->state_dir && *o->state_dir) || (systemd && *systemd);
    bool on_disk = o->state == STATE_ON_DISK;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = realpath(root, NULL);
    if (path) {
        allow_parent(rules, path);
    }
    if (state_dir_open(o->state_dir, fd, path ? path : root,
                       on_disk && (named || fd < 0 || !keeps_state_in(fd)) ? use
                                                                           : STATE_READ,
                       &place, why) == GPUFL_OK) {
        landlock_allow_fd(rules, place.fd, LANDLOCK_WRITE);
        close(place.fd);
    }
    free(path);
    close(fd);
}

/* For a folder that does not exist yet, allows the nearest directory above it that does.
 * \return false when that is /. */
static bool allow_folder(const struct landlock *rules, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
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

bool confine_allow_folders(const struct landlock *rules, const struct options *o,
                           enum state_use use, char missing[PATH_MAX])
{
    for (unsigned i = 0; folders_at(o, i, missing, PATH_MAX); i++) {
        allow_state(rules, o, use, missing);
        if (!allow_folder(rules, missing)) {
            return false;
        }
    }
    return true;
}

/* Name lookups and TLS read these. A resolv.conf that is replaced is another file, so all
 * of /etc is allowed, unless we are root and could read secrets there. */
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
                                       "/etc/passwd",
                                       "/etc/subuid",
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
                                       "/proc/locks",
                                       "/proc/sys/kernel/random",
                                       "/proc/sys/fs/inotify",
                                       RUN_DIR_DEFAULT};
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
    const char *runtime = getenv("RUNTIME_DIRECTORY");
    const char *trusted = getenv("SSL_CERT_FILE");
    const char *const file[] = {o->token_file, o->ca_file,     o->client_cert,
                                o->client_key, o->cursor_file, o->config_file,
                                trusted};
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        if (file[i] && *file[i]) {
            allow_neighbours(rules, file[i]);
        }
    }
    if (runtime && *runtime) {
        landlock_allow_path(rules, runtime, LANDLOCK_WRITE);
    }
    if (credentials) {
        landlock_allow_path(rules, credentials, LANDLOCK_READ);
    }
}

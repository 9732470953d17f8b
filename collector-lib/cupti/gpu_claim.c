/* SPDX-License-Identifier: Apache-2.0 */
/* A claim is a lock on one byte of the file of the driver's library, libcuda, which the
 * UUID of the GPU chooses (MIG instances have their own): a container has this file from
 * the host, since it belongs to the kernel's driver. The lock is one for reading, for
 * which nothing but reading is needed. For file systems without locks, and for libraries
 * that lie in several places, it is a socket, too, bound to an abstract name that
 * contains the UUID. Neither leaves anything behind: the kernel releases both when the
 * process is killed. */
#include "collector-lib/cupti/gpu_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "collector-lib/core/own_fd.h"
#include "collector-lib/cupti/device.h"

#define DEVICES_MAX 64u
#define PREFIX      "gpufl-pc-sampling-"
#define TURN_MS     100

static struct {
    struct gpu_claimed {
        bool made;
        struct own_fd socket, file;
    } of[DEVICES_MAX];
    bool dropped_in_child; /* the fork handler is in place */
} claims;

/* A child's copy of the descriptors would outlive the claim. */
static void drop_in_child(void)
{
    gpu_claim_drop_all();
}

static socklen_t claim_name(const CUuuid *uuid, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    char *at = name->sun_path + 1; /* a first byte of 0 makes it abstract */
    size_t len = sizeof PREFIX - 1;
    memcpy(at, PREFIX, len);
    for (size_t i = 0; i < sizeof uuid->bytes; i++, len += 2) {
        snprintf(at + len, 3, "%02x", (unsigned char)uuid->bytes[i]);
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/* Each is true only if another process is known to have the claim. */

static bool name_is_taken(struct own_fd *own, const CUuuid *uuid)
{
    struct sockaddr_un name;
    return own_fd_take(own, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) &&
           bind(own->fd, (struct sockaddr *)&name, claim_name(uuid, &name)) != 0 &&
           errno == EADDRINUSE;
}

static struct flock byte_of(const CUuuid *uuid, short type)
{
    uint64_t hash = HASH64_BASIS;
    for (size_t i = 0; i < sizeof uuid->bytes; i++) {
        hash = hash64_word(hash, (unsigned char)uuid->bytes[i]);
    }
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(hash >> 2), .l_len = 1};
}

/* Two that lock a byte for reading at the same moment would each see the other. Whoever
 * keeps the turn, which takes two calls, for so long is none of us. */
static void wait_for_turn(int fd)
{
    const struct timespec round = {.tv_nsec = 1000000};
    for (int ms = 0; ms < TURN_MS && flock(fd, LOCK_EX | LOCK_NB) < 0; ms++) {
        if (errno != EWOULDBLOCK) {
            return;
        }
        nanosleep(&round, NULL);
    }
}

static bool byte_is_taken(int fd, const CUuuid *uuid)
{
    struct flock ours = byte_of(uuid, F_RDLCK);
    struct flock others = byte_of(uuid, F_WRLCK);
    return fcntl(fd, F_OFD_GETLK, &others) == 0 && fcntl(fd, F_OFD_SETLK, &ours) == 0 &&
           others.l_type != F_UNLCK;
}

static bool file_is_taken(struct own_fd *own, const CUuuid *uuid)
{
    const char *file = cupti_driver_file("cuDeviceGetUuid_v2");
    if (!file || !own_fd_take(own, open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK))) {
        return false;
    }
    wait_for_turn(own->fd);
    bool taken = byte_is_taken(own->fd, uuid);
    flock(own->fd, LOCK_UN);
    return taken;
}

static void drop(struct gpu_claimed *claim)
{
    if (claim->made) {
        own_fd_close(&claim->socket);
        own_fd_close(&claim->file);
        claim->made = false;
    }
}

bool gpu_claim(uint32_t device)
{
    CUuuid uuid;
    if (device >= DEVICES_MAX || claims.of[device].made || !device_uuid(device, &uuid)) {
        return true;
    }
    if (!claims.dropped_in_child) {
        claims.dropped_in_child = pthread_atfork(NULL, NULL, drop_in_child) == 0;
    }
    struct gpu_claimed *claim = &claims.of[device];
    *claim =
        (struct gpu_claimed){.made = true, .socket = OWN_FD_NONE, .file = OWN_FD_NONE};
    bool taken =
        name_is_taken(&claim->socket, &uuid) || file_is_taken(&claim->file, &uuid);
    if (taken) {
        drop(claim);
    }
    return !taken;
}

void gpu_claim_drop_all(void)
{
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        drop(&claims.of[i]);
    }
}

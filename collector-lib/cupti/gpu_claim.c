/* SPDX-License-Identifier: Apache-2.0 */
/* A claim is a socket bound to an abstract name that contains the GPU's UUID (MIG
 * instances have their own): it leaves no file behind, needs no permission, and the
 * kernel releases it when the process is killed. */
#include "collector-lib/cupti/gpu_claim.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector-lib/cupti/device.h"

#define DEVICES_MAX 64u
#define PREFIX      "gpufl-pc-sampling-"

static struct {
    int descriptor[DEVICES_MAX]; /* descriptor + 1; 0 = not ours */
    bool dropped_in_child;       /* the fork handler is in place */
} claims;

/* A child's copy of the socket would outlive the claim. */
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

bool gpu_claim(uint32_t device)
{
    struct sockaddr_un name;
    CUuuid uuid;
    if (device >= DEVICES_MAX || claims.descriptor[device] ||
        !device_uuid(device, &uuid)) {
        return true;
    }
    if (!claims.dropped_in_child) {
        claims.dropped_in_child = pthread_atfork(NULL, NULL, drop_in_child) == 0;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return true;
    }
    if (bind(fd, (struct sockaddr *)&name, claim_name(&uuid, &name)) != 0) {
        bool taken = errno == EADDRINUSE;
        close(fd);
        return !taken;
    }
    claims.descriptor[device] = fd + 1;
    return true;
}

void gpu_claim_drop_all(void)
{
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        if (claims.descriptor[i]) {
            close(claims.descriptor[i] - 1);
            claims.descriptor[i] = 0;
        }
    }
}

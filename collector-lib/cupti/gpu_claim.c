/* SPDX-License-Identifier: Apache-2.0 */
/* A claim is a socket bound to a name of the kernel's, made of the GPU's UUID (MIG
 * instances have their own): no file to leave behind or to lack the right to, and the
 * kernel lets go of it when the process is killed. */
#include "collector-lib/cupti/gpu_claim.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector-lib/cupti/cupti_api.h"

#define DEVICES_MAX 64u
#define PREFIX      "gpufl-pc-sampling-"

static int claimed[DEVICES_MAX]; /* descriptor + 1 */

/* The child has a copy that would outlive the claim. */
static void drop_in_child(void)
{
    gpu_claim_drop_all();
}

static bool uuid_of(uint32_t device, CUuuid *uuid)
{
    CUresult (*get)(CUuuid *, CUdevice);
    void *at = cupti_driver_symbol("cuDeviceGetUuid_v2");
    memcpy(&get, &at, sizeof get);
    return at && get(uuid, (CUdevice)device) == CUDA_SUCCESS;
}

static socklen_t name_of(const CUuuid *uuid, struct sockaddr_un *name)
{
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    char *at = name->sun_path + 1; /* a first byte of 0 means no file */
    size_t len = (size_t)sprintf(at, "%s", PREFIX);
    for (size_t i = 0; i < sizeof uuid->bytes; i++) {
        len += (size_t)sprintf(at + len, "%02x", (unsigned char)uuid->bytes[i]);
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

bool gpu_claim(uint32_t device)
{
    static bool prepared;
    struct sockaddr_un name;
    CUuuid uuid;
    if (device >= DEVICES_MAX || claimed[device] || !uuid_of(device, &uuid)) {
        return true;
    }
    if (!prepared) {
        prepared = pthread_atfork(NULL, NULL, drop_in_child) == 0;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return true;
    }
    if (bind(fd, (struct sockaddr *)&name, name_of(&uuid, &name)) != 0) {
        bool taken = errno == EADDRINUSE;
        close(fd);
        return !taken;
    }
    claimed[device] = fd + 1;
    return true;
}

void gpu_claim_drop_all(void)
{
    for (size_t i = 0; i < DEVICES_MAX; i++) {
        if (claimed[i]) {
            close(claimed[i] - 1);
            claimed[i] = 0;
        }
    }
}

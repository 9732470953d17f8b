/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the driver for the active primary context of each device. */
#include "collector-lib/cupti/primary_contexts.h"

#include <string.h>

void primary_contexts_visit(void (*visit)(CUcontext context))
{
    CUresult (*count)(int *);
    CUresult (*state)(CUdevice, unsigned *, int *);
    CUresult (*retain)(CUcontext *, CUdevice);
    CUresult (*release)(CUdevice);
    void *symbol[] = {
        cupti_driver_symbol("cuDeviceGetCount"),
        cupti_driver_symbol("cuDevicePrimaryCtxGetState"),
        cupti_driver_symbol("cuDevicePrimaryCtxRetain"),
        cupti_driver_symbol("cuDevicePrimaryCtxRelease_v2"),
    };
    memcpy(&count, &symbol[0], sizeof count);
    memcpy(&state, &symbol[1], sizeof state);
    memcpy(&retain, &symbol[2], sizeof retain);
    memcpy(&release, &symbol[3], sizeof release);
    int devices = 0;
    if (!count || !state || !retain || !release || count(&devices) != CUDA_SUCCESS) {
        return;
    }
    for (CUdevice d = 0; d < devices; d++) {
        unsigned flags;
        int active = 0;
        CUcontext context = NULL;
        if (state(d, &flags, &active) == CUDA_SUCCESS && active &&
            retain(&context, d) == CUDA_SUCCESS) {
            visit(context);
            release(d);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how many blocks of a kernel fit one multiprocessor, and what limits them. */
#include "collector-lib/trace/occupancy.h"

#define REGISTER_UNIT 256u /* of a warp */
#define SCHEDULERS    4u   /* the registers of a warp are in one of them */
#define SYSTEM_SHARED 1024u
#define AMPERE        8u

static unsigned up(unsigned value, unsigned unit)
{
    return (value + unit - 1) / unit * unit;
}

static unsigned by_registers(const struct trace_device *d, const struct trace_kernel *k,
                             unsigned warps_per_block)
{
    if (k->registers == 0) {
        return d->blocks_per_sm;
    }
    unsigned of_warp = up(k->registers * d->threads_per_warp, REGISTER_UNIT);
    unsigned warps = d->registers_per_sm / SCHEDULERS / of_warp * SCHEDULERS;
    return warps / warps_per_block;
}

static unsigned by_shared(const struct trace_device *d, const struct trace_kernel *k)
{
    unsigned unit = d->compute_major >= AMPERE ? 128 : 256;
    unsigned system = d->compute_major >= AMPERE ? SYSTEM_SHARED : 0;
    unsigned bytes = k->static_shared_bytes + k->dynamic_shared_bytes + system;
    return bytes ? d->shared_per_sm_bytes / up(bytes, unit) : d->blocks_per_sm;
}

static double share(const struct trace_device *d, unsigned blocks,
                    unsigned warps_per_block)
{
    unsigned warps = blocks * warps_per_block;
    return warps >= d->warps_per_sm ? 1.0 : (double)warps / d->warps_per_sm;
}

struct occupancy occupancy_of(const struct trace_device *d, const struct trace_kernel *k)
{
    struct occupancy o = {.limiting = ""};
    if (!d || !d->warps_per_sm || !d->threads_per_warp) {
        return o;
    }
    unsigned threads = (unsigned)(k->block[0] * k->block[1] * k->block[2]);
    unsigned warps = up(threads ? threads : 1, d->threads_per_warp) / d->threads_per_warp;
    const struct {
        const char *name;
        unsigned blocks;
        double *share;
    } limit[] = {
        {"warps", d->warps_per_sm / warps, &o.warps},
        {"registers", by_registers(d, k, warps), &o.registers},
        {"shared_mem", by_shared(d, k), &o.shared},
        {"blocks", d->blocks_per_sm, &o.blocks},
    };
    o.max_active_blocks = limit[0].blocks;
    o.limiting = limit[0].name;
    for (int i = 0; i < 4; i++) {
        *limit[i].share = share(d, limit[i].blocks, warps);
        if (limit[i].blocks < o.max_active_blocks) {
            o.max_active_blocks = limit[i].blocks;
            o.limiting = limit[i].name;
        }
    }
    o.all = share(d, o.max_active_blocks, warps);
    return o;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, clock and faults of a world. */
#include "tests/sim/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/pick.h"

#define BEGINS_AT_MS 1700000000000ll /* what clocks show when a world begins */
#define UPTIME_MS    100000u         /* since the boot before that */

struct kernel kernel;

void kernel_begin(uint64_t seed)
{
    memset(&kernel, 0, sizeof kernel);
    kernel.random = seed * 0x9e3779b97f4a7c15u + 1;
    kernel.now_ms = UPTIME_MS;
    kernel.boots = 1;
    kernel.last_pid = 100;
    inode_set_time(kernel_wall_ms());
    inode_begin();
}

void kernel_end(void)
{
    for (int pid = 0; pid <= kernel.last_pid; pid++) {
        kernel_kill(pid);
    }
    inode_end();
}

int kernel_spawn(uid_t uid, unsigned host)
{
    if (kernel.last_pid + 1 >= KERNEL_PROCESSES_MAX) {
        abort(); /* it starts programs without end */
    }
    int pid = ++kernel.last_pid;
    kernel.process[pid] =
        (struct kernel_process){.alive = true, .uid = uid, .host = host};
    return pid;
}

bool kernel_is_alive(int pid)
{
    return pid > 0 && pid <= kernel.last_pid && kernel.process[pid].alive;
}

struct kernel_process *kernel_self(void)
{
    return &kernel.process[kernel.self];
}

void kernel_kill(int pid)
{
    if (!kernel_is_alive(pid)) {
        return;
    }
    for (int i = 0; i < kernel.fd_end; i++) {
        if (kernel.fd[i] && kernel.fd_pid[i] == pid) {
            kernel_close(KERNEL_FD_FIRST + i);
        }
    }
    kernel.process[pid].alive = false;
}

void kernel_power_failure(void)
{
    for (int pid = 0; pid <= kernel.last_pid; pid++) {
        kernel_kill(pid);
    }
    inode_power_failure();
    kernel_advance(20000);
    kernel.boot_ms = kernel.now_ms - 1000;
    kernel.boots++;
}

void kernel_advance(uint64_t ms)
{
    kernel.now_ms += ms;
    inode_set_time(kernel_wall_ms());
}

int64_t kernel_wall_ms(void)
{
    return BEGINS_AT_MS + (int64_t)kernel.now_ms + kernel.wall_step_s * 1000;
}

uint64_t kernel_random(void)
{
    /* splitmix64 (Vigna 2015) */
    uint64_t z = kernel.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int kernel_refuse(int error)
{
    errno = error;
    return -1;
}

int kernel_no_room(void)
{
    static const int errors[] = {ENOSPC, EDQUOT, EIO};
    return kernel_refuse(errors[pick(3)]);
}

static void kernel_pause(struct kernel_process *self)
{
    int pid = kernel.self;
    kernel.self = 0;
    self->paused = true;
    kernel.let_pass(kernel.let_pass_arg, self->pause_ms);
    self->paused = false;
    self->fails_next = self->pause_fails;
    kernel.self = pid;
}

bool kernel_may(void)
{
    struct kernel_process *self = kernel_self();
    kernel.calls++;
    if (self->alive && self->pause_left && --self->pause_left == 0) {
        kernel_pause(self);
    }
    if (self->alive && self->calls_left && --self->calls_left == 0) {
        kernel_kill(kernel.self);
    }
    if (!self->alive) {
        errno = EIO;
    }
    return self->alive;
}

bool kernel_fails(void)
{
    struct kernel_process *self = kernel_self();
    unsigned percent = self->fault_percent;
    if (self->fails_next) {
        self->fails_next--;
        return true;
    }
    return percent && pick(100) < percent;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job of one thread that ends itself and not its process, as that has other threads.
 * Usage: main_left LOG_DIR HOW:
 *
 *  - exit: by the system call, with status 4
 *  - strict: likewise, in a sandbox that allows hardly anything else
 *  - killed: by that sandbox */
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    if (argc < 3) {
        return 2;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    if (strcmp(argv[2], "exit") != 0) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    }
    if (strcmp(argv[2], "killed") == 0) {
        syscall(SYS_getpid);
    }
    syscall(SYS_exit, 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Children that are made without handlers of fork(): with memory of its own, and with its
 * parent's. Usage: foreign_child LOG_DIR; prints what calls return in the first one. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    char id[40];
    int status;
    if (argc < 2) {
        return 2;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        gpufl_scope_end(gpufl_scope_begin("in the child"));
        gpufl_flush();
        printf("%d %d ", gpufl_get_stats(&stats), gpufl_session_id(id));
        gpufl_shutdown();
        errno = 0;
        status = (int)gpufl_init(&options);
        printf("%d %d\n", status, errno == ECHILD);
        fflush(stdout);
        _exit(7);
    }
    waitpid(child, &status, 0);
    child = vfork();
    if (child == 0) {
        gpufl_scope_end(gpufl_scope_begin("with the parent's memory"));
        gpufl_flush();
        gpufl_shutdown();
        _exit(0);
    }
    gpufl_scope_end(gpufl_scope_begin("in the parent"));
    gpufl_shutdown();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

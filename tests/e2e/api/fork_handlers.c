/* SPDX-License-Identifier: Apache-2.0 */
/* Its handlers of fork() were registered before anything of gpufl was called: the one
 * before it ends the session, and each of the two behind it begins one.
 * Usage: fork_handlers LOG_DIR [LIBRARY], which is loaded behind them, or else the one
 * that it is linked with. Exit code: that of the child, 7. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

static struct {
    __typeof__(gpufl_init) *init;
    __typeof__(gpufl_shutdown) *shutdown;
    __typeof__(gpufl_flush) *flush;
    __typeof__(gpufl_get_stats) *get_stats;
    __typeof__(gpufl_scope_begin) *begin;
    __typeof__(gpufl_scope_end) *end;
} call;

static void find(void *library, const char *name, void *into)
{
    void *at = dlsym(library, name);
    memcpy(into, &at, sizeof at);
}

static struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;

static void use(const char *scope)
{
    struct gpufl_stats stats = GPUFL_STATS_INIT;
    call.end(call.begin(scope));
    call.flush();
    call.get_stats(&stats);
}

static void before(void)
{
    use("before");
    call.shutdown();
}

static void behind(void)
{
    call.init(&options);
    use("behind");
}

static void in_child(void)
{
    use("nowhere");
    call.init(&options);
    use("in the child");
    call.shutdown();
}

int main(int argc, char **argv)
{
    int status = -1;
    pthread_atfork(before, behind, in_child);
    void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : RTLD_DEFAULT;
    if (argc < 2 || (argc > 2 && !library)) {
        return 2;
    }
    find(library, "gpufl_init", &call.init);
    find(library, "gpufl_shutdown", &call.shutdown);
    find(library, "gpufl_flush", &call.flush);
    find(library, "gpufl_get_stats", &call.get_stats);
    find(library, "gpufl_scope_begin", &call.begin);
    find(library, "gpufl_scope_end", &call.end);
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    if (call.init(&options) != GPUFL_OK) {
        return 3;
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(7);
    }
    waitpid(child, &status, 0);
    call.end(call.begin("goes on"));
    call.shutdown();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

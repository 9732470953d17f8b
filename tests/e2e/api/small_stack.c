/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of gpufl where there is little stack, or none for what they do again. Usage:
 * small_stack LOG_DIR thread: on a thread of PTHREAD_STACK_MIN; handler: exit() in a
 * handler of SIGSEGV, on an alternate stack of 8 KiB, which follows a page that cannot be
 * touched; malloc: the program's own malloc records scopes. Exit code 7. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <gpufl/gpufl.h>

#define PAGE 4096

void *__libc_malloc(size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
static bool recorded;

void *malloc(size_t size)
{
    struct gpufl_scope scope = {0};
    if (recorded) {
        scope = gpufl_scope_begin("malloc");
    }
    void *memory = __libc_malloc(size);
    gpufl_scope_end(scope);
    return memory;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    struct gpufl_scope scope = {0};
    if (recorded) {
        scope = gpufl_scope_begin("aligned_alloc");
    }
    void *memory = __libc_memalign(alignment, size);
    gpufl_scope_end(scope);
    return memory;
}

static void *use(void *arg)
{
    gpufl_init(&options);
    for (int i = 0; i < 100; i++) {
        gpufl_scope_end(gpufl_scope_begin("scope"));
    }
    gpufl_flush();
    gpufl_shutdown();
    gpufl_generate_report("/dev/null");
    return arg;
}

static void leave(int number)
{
    (void)number;
    exit(7);
}

static void fail_on_small_stack(void)
{
    char *memory =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = {.ss_sp = memory == MAP_FAILED ? NULL : memory + PAGE,
                           .ss_size = (size_t)(2 * PAGE)};
    const struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    gpufl_init(&options);
    gpufl_scope_end(gpufl_scope_begin("scope"));
    if (memory != MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0 &&
        sigaltstack(&stack, NULL) == 0) {
        sigaction(SIGSEGV, &action, NULL);
        raise(SIGSEGV);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (argc < 3) {
        return 2;
    }
    options.log_path = argv[1];
    if (strcmp(argv[2], "handler") == 0) {
        fail_on_small_stack();
        return 3;
    }
    recorded = strcmp(argv[2], "malloc") == 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, recorded ? 1 << 20 : PTHREAD_STACK_MIN);
    if (pthread_create(&thread, &attributes, use, NULL) != 0) {
        return 4;
    }
    pthread_join(thread, NULL);
    return 7;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job for which a thread of the kernel looks for what io_uring is to do. Main leaves;
 * another thread records a scope, says "worked" and ends. Usage: ring LOG_DIR; 77 = there
 * is no io_uring. */
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

static void *work(void *arg)
{
    const struct timespec rounds = {.tv_nsec = 300000000}; /* of who watches */
    struct gpufl_scope scope = gpufl_scope_begin("work");
    nanosleep(&rounds, NULL);
    gpufl_scope_end(scope);
    puts("worked");
    return arg;
}

int main(int argc, char **argv)
{
    struct io_uring_params ring = {.flags = IORING_SETUP_SQPOLL};
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    pthread_t thread;
    if (argc < 2) {
        return 2;
    }
    if (syscall(SYS_io_uring_setup, 4, &ring) < 0) {
        perror("io_uring_setup");
        return 77;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_NONE;
    if (gpufl_init(&options) != GPUFL_OK ||
        pthread_create(&thread, NULL, work, NULL) != 0) {
        return 3;
    }
    pthread_exit(NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for a session where the system refuses a thread or a key. Usage: refused
 * thread|key LOG_DIR; prints the status of gpufl_init, and errno. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <gpufl/gpufl.h>

static int refuse;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *arg)
{
    (void)thread, (void)attr, (void)run, (void)arg;
    return EAGAIN;
}

int pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
    *key = 0;
    (void)destroy;
    return refuse ? EAGAIN : 0;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    if (argc < 3) {
        return 3;
    }
    refuse = strcmp(argv[1], "key") == 0;
    options.log_path = argv[2];
    errno = 0;
    int status = (int)gpufl_init(&options);
    printf("%d %d\n", status, errno);
    return 0;
}

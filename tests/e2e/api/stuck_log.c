/* SPDX-License-Identifier: Apache-2.0 */
/* Its function for messages calls gpufl, and waits for a lock that main holds, which
 * meanwhile does what is asked for. Usage: stuck_log LOG_DIR exit|shutdown|replace, with
 * a limit on which the library's thread has something to say; or init, where it has as
 * the session begins. Exit code 7. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpufl/gpufl.h>

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;
static sem_t called;

static void take_message(void *arg, enum gpufl_log_level level, const char *line)
{
    (void)level;
    (void)line;
    if (arg) { /* waits for main's gpufl_init; main's exit() would wait for this thread */
        char id[40];
        gpufl_session_id(id);
    }
    sem_post(&called);
    pthread_mutex_lock(&interpreter);
    pthread_mutex_unlock(&interpreter);
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    if (argc < 3 || sem_init(&called, 0, 0) != 0) {
        return 2;
    }
    options.log_path = argv[1];
    pthread_mutex_lock(&interpreter);
    bool begins = strcmp(argv[2], "init") == 0;
    if (begins) {
        gpufl_set_log_callback(take_message, &called);
    }
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    if (begins) {
        pthread_mutex_unlock(&interpreter);
    } else {
        gpufl_set_log_callback(take_message, NULL);
        /* Only these pass the limit: a message before the function is set goes to stderr.
         */
        for (int i = 0; i < 4000; i++) {
            gpufl_scope_end(gpufl_scope_begin("beyond the limit"));
        }
    }
    sem_wait(&called);
    puts("called");
    fflush(stdout);
    if (strcmp(argv[2], "shutdown") == 0) {
        gpufl_shutdown();
    } else if (strcmp(argv[2], "replace") == 0) {
        gpufl_set_log_callback(NULL, NULL);
    }
    exit(7);
}

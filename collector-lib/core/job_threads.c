/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/self/task. A thread inherits the name of the one that makes it, so those
 * that the GPU's driver makes for us have ours. */
#include "collector-lib/core/job_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector-lib/core/thread.h"

/* proc(5): its number, its name in parentheses, its state. \return false once it has
 * ended. */
static bool read_task(const char *task, char name[16], char *state)
{
    char path[64];
    char text[128];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (n <= 0) {
        return false;
    }
    text[n] = '\0';
    const char *begin = strchr(text, '(');
    const char *end = strrchr(text, ')');
    if (!begin || !end || end[1] != ' ') {
        return false;
    }
    snprintf(name, 16, "%.*s", (int)(end - begin - 1), begin + 1);
    *state = end[2];
    return true;
}

static bool main_has_left(void)
{
    char task[24];
    char name[16];
    char state;
    snprintf(task, sizeof task, "%d", (int)getpid());
    return read_task(task, name, &state) && state == 'Z';
}

bool job_threads_are_gone(void)
{
    DIR *tasks = main_has_left() ? opendir("/proc/self/task") : NULL;
    bool gone = tasks != NULL;
    for (struct dirent *e; gone && (e = readdir(tasks)) != NULL;) {
        char name[16];
        char state;
        gone = e->d_name[0] == '.' || !read_task(e->d_name, name, &state) ||
               state == 'Z' || strncmp(name, THREAD_NAMES, sizeof THREAD_NAMES - 1) == 0;
    }
    if (tasks) {
        closedir(tasks);
    }
    return gone;
}

static void *watch(void *arg)
{
    const struct timespec round = {.tv_sec = 1};
    while (!job_threads_are_gone()) {
        nanosleep(&round, NULL);
    }
    exit(EXIT_SUCCESS);
    return arg;
}

void job_threads_watch(void)
{
    pthread_t thread;
    if (thread_start(&thread, THREAD_NAMES "last", watch, NULL) == 0) {
        pthread_detach(thread);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job whose environment another thread may not read, as setenv(3) moves it. Usage:
 * environment LOG_DIR SYSFS; prints each name that was read by a thread other than main,
 * and why a file was not written, as strerror(3) reads the environment for its language.
 */
#include <dirent.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

extern char **environ;

static void say_reader(const char *what)
{
    if (gettid() != getpid()) {
        printf("%s\n", what);
        fflush(stdout);
    }
}

char *getenv(const char *name)
{
    size_t len = strlen(name);
    say_reader(name);
    for (char **at = environ; *at; at++) {
        if (strncmp(*at, name, len) == 0 && (*at)[len] == '=') {
            return *at + len + 1;
        }
    }
    return NULL;
}

char *secure_getenv(const char *name)
{
    return getenv(name);
}

char *strerror(int error)
{
    say_reader("strerror");
    return strerror_l(error, newlocale(LC_ALL_MASK, "C", NULL));
}

/* So that it is opened again. */
static void close_below(const char *path)
{
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *fd; fds && (fd = readdir(fds));) {
        char at[PATH_MAX] = "";
        if (readlinkat(dirfd(fds), fd->d_name, at, sizeof at - 1) > 0 &&
            strncmp(at, path, strlen(path)) == 0) {
            close(atoi(fd->d_name));
        }
    }
    closedir(fds);
}

/* Of the host and of the devices, all of them. */
static void sample(void)
{
    struct gpufl_stats before = GPUFL_STATS_INIT;
    struct gpufl_stats now = GPUFL_STATS_INIT;
    gpufl_get_stats(&before);
    gpufl_system_start("phase");
    do {
        gpufl_flush();
        gpufl_get_stats(&now);
    } while (now.samples < before.samples + 10);
    gpufl_system_stop("phase");
    gpufl_flush();
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char remove[PATH_MAX + 64];
    if (argc < 3) {
        return 2;
    }
    options.log_path = argv[1];
    options.backend = GPUFL_BACKEND_AMD;
    options.system_sample_rate_ms = 10;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    sample();
    close_below(argv[2]);
    sample();
    snprintf(remove, sizeof remove, "cd %s/* && mkdir .new-system.log && rm system.log",
             argv[1]);
    if (system(remove) != 0) {
        return 4;
    }
    sample();
    gpufl_shutdown();
    return 0;
}

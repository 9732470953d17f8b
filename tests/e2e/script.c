/* SPDX-License-Identifier: Apache-2.0 */
/* A job by script. Usage: script WORD..., in order:
 *
 *  - field=value: an option of the next init: log_path, rate, continuous, backend (0 to
 *    3), kernel_rate, flags (all six capture flags) and the names of texts
 *  - init, flush, shutdown: the calls; init prints its status and the session's id
 *  - again: init, until it returns GPUFL_OK
 *  - touch:PATH, unlink:PATH: a file comes, and goes
 *  - elsewhere:WORD: on a thread that nobody waits for
 *  - alarm:MS: after so long, a handler calls gpufl_shutdown
 *  - stats: gpufl_get_stats; prints its status
 *  - nowhere: gpufl_get_stats and gpufl_session_id with NULL; prints their statuses
 *  - scope:NAME:MS: a scope of MS ms; thread:NAME:MS: one on a thread of its own
 *  - start:NAME, stop:NAME: gpufl_system_start, gpufl_system_stop
 *  - sleep:MS
 *  - upload: gpufl_upload_logs with url, key and path of the options; prints status,
 *    success and events
 *  - report:PATH: gpufl_generate_report; prints its status
 *  - errno: prints the symbol of errno as the last init, upload or report left it
 *  - look: prints the number of threads, whether a GPU library is mapped, and the context
 *    switches of all threads but this one
 *  - fork: a child calls exit(); _exit: ends without it
 *  - hold: waits for the end of standard input */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpufl/gpufl.h>
#include <gpufl/upload.h>

static struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
static int last_errno;

static void nap_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void *run_scope(void *arg)
{
    char *name = arg;
    char *ms = strchr(name, ':');
    *ms++ = '\0';
    GFL_SCOPE(name)
    {
        nap_ms(atol(ms));
    }
    return NULL;
}

static void set_option(const char *field, const char *value)
{
    static const struct {
        const char *name;
        const char **at;
    } texts[] = {
        {"app_name", &options.app_name},       {"log_path", &options.log_path},
        {"backend_url", &options.backend_url}, {"api_key", &options.api_key},
        {"api_path", &options.api_path},       {"config_file", &options.config_file}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(field, texts[i].name) == 0) {
            *texts[i].at = value;
        }
    }
    int number = atoi(value);
    if (strcmp(field, "rate") == 0) {
        options.system_sample_rate_ms = number;
    } else if (strcmp(field, "kernel_rate") == 0) {
        options.kernel_sample_rate_ms = number;
    } else if (strcmp(field, "continuous") == 0) {
        options.continuous_system_sampling = number;
    } else if (strcmp(field, "enabled") == 0) {
        options.enabled = number;
    } else if (strcmp(field, "backend") == 0) {
        options.backend = (enum gpufl_backend_kind)number;
    } else if (strcmp(field, "flags") == 0) {
        options.enable_stack_trace = options.enable_source_collection =
            options.enable_external_correlation = options.enable_synchronization =
                options.enable_memory_tracking = options.enable_cuda_graphs_tracking =
                    number;
    }
}

static long switches_of(const char *task)
{
    char path[64];
    char line[128];
    long sum = 0;
    long n;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        sum += sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ? n : 0;
    }
    if (file) {
        fclose(file);
    }
    return sum;
}

/* One that was joined has its entry until the kernel has taken it down: PF_EXITING of its
 * flags, field 9 of proc(5)'s stat. */
static bool is_ending(const char *task)
{
    char path[64];
    char line[512] = "";
    unsigned flags = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task);
    FILE *file = fopen(path, "r");
    const char *behind =
        file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file) {
        fclose(file);
    }
    return behind == NULL ||
           (sscanf(behind, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & 0x4));
}

static void look(void)
{
    char line[512];
    int mapped = 0;
    int threads = 0;
    long switches = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        mapped |= strstr(line, "libnvidia") || strstr(line, "libcupti");
    }
    if (maps) {
        fclose(maps);
    }
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks)) != NULL;) {
        if (e->d_name[0] != '.' && !is_ending(e->d_name)) {
            threads++;
            switches += atol(e->d_name) == (long)getpid() ? 0 : switches_of(e->d_name);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    printf("%d %d %ld\n", threads, mapped, switches);
}

static void upload(void)
{
    struct gpufl_upload_options with = GPUFL_UPLOAD_OPTIONS_DEFAULT;
    struct gpufl_upload_result result = GPUFL_UPLOAD_RESULT_INIT;
    with.log_path = options.log_path;
    with.backend_url = options.backend_url;
    with.api_key = options.api_key;
    with.api_path = options.api_path;
    int status = (int)gpufl_upload_logs(&with, &result);
    last_errno = errno;
    printf("%d %d %llu\n", status, result.success,
           (unsigned long long)result.events_uploaded);
}

static gpufl_status begin(void)
{
    char id[40] = "";
    gpufl_status status = gpufl_init(&options);
    last_errno = errno;
    gpufl_session_id(id);
    printf("%d %s\n", (int)status, id);
    return status;
}

static void call(char *word);

static void *call_elsewhere(void *word)
{
    call(word);
    return NULL;
}

static void on_alarm(int number)
{
    (void)number;
    gpufl_shutdown();
}

static bool is_disorder_word(char *word)
{
    pthread_t thread;
    if (strncmp(word, "elsewhere:", 10) == 0) {
        pthread_create(&thread, NULL, call_elsewhere, word + 10);
        pthread_detach(thread);
    } else if (strncmp(word, "alarm:", 6) == 0) {
        struct itimerval in = {.it_value.tv_usec = atol(word + 6) * 1000};
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &in, NULL);
    } else {
        return false;
    }
    return true;
}

static bool is_file_word(const char *word)
{
    if (strncmp(word, "touch:", 6) == 0) {
        if (mknod(word + 6, S_IFREG | 0644, 0) < 0) { /* a close may hang from then on */
            exit(2);
        }
    } else if (strncmp(word, "unlink:", 7) == 0) {
        unlink(word + 7);
    } else {
        return false;
    }
    return true;
}

static void call(char *word)
{
    pthread_t thread;
    if (strcmp(word, "init") == 0) {
        begin();
    } else if (strcmp(word, "again") == 0) {
        while (begin() != GPUFL_OK) {
            nap_ms(10);
        }
    } else if (strcmp(word, "flush") == 0) {
        gpufl_flush();
    } else if (strcmp(word, "shutdown") == 0) {
        gpufl_shutdown();
    } else if (strcmp(word, "stats") == 0) {
        struct gpufl_stats stats = GPUFL_STATS_INIT;
        printf("%d\n", (int)gpufl_get_stats(&stats));
    } else if (strcmp(word, "nowhere") == 0) {
        printf("%d %d\n", (int)gpufl_get_stats(NULL), (int)gpufl_session_id(NULL));
    } else if (strcmp(word, "upload") == 0) {
        upload();
    } else if (strncmp(word, "report:", 7) == 0) {
        int status = (int)gpufl_generate_report(word + 7);
        last_errno = errno;
        printf("%d\n", status);
    } else if (strcmp(word, "errno") == 0) {
        printf("%s\n", last_errno ? strerrorname_np(last_errno) : "0");
    } else if (strcmp(word, "look") == 0) {
        look();
    } else if (strcmp(word, "hold") == 0) {
        while (getchar() != EOF) {
        }
    } else if (strcmp(word, "_exit") == 0) {
        _exit(0);
    } else if (strcmp(word, "fork") == 0) {
        if (fork() == 0) {
            exit(0);
        }
        wait(NULL);
    } else if (strncmp(word, "sleep:", 6) == 0) {
        nap_ms(atol(word + 6));
    } else if (strncmp(word, "scope:", 6) == 0) {
        run_scope(word + 6);
    } else if (strncmp(word, "thread:", 7) == 0) {
        pthread_create(&thread, NULL, run_scope, word + 7);
        pthread_join(thread, NULL);
    } else if (strncmp(word, "start:", 6) == 0) {
        gpufl_system_start(word + 6);
    } else if (strncmp(word, "stop:", 5) == 0) {
        gpufl_system_stop(word + 5);
    } else if (!is_file_word(word) && !is_disorder_word(word)) {
        fprintf(stderr, "script: what is %s?\n", word);
        exit(2);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals) {
            *equals = '\0';
            set_option(argv[i], equals + 1);
        } else {
            call(argv[i]);
        }
    }
    return 0;
}

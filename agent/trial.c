/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what the agent would open, and asks the backend whether it takes the key. */
#include "agent/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/folders.h"
#include "agent/notify.h"
#include "agent/options/option_unused.h"
#include "agent/options/option_value.h"
#include "agent/options/unread_env.h"
#include "agent/start.h"
#include "agent/state_trial.h"
#include "base/message.h"
#include "base/plural.h"
#include "upload/engine/origin_change.h"
#include "upload/http/key_check.h"
#include "upload/http/transport_ask.h"
#include "upload/http/transport_http.h"
#include "upload/journal/journal_read.h"
#include "upload/published/progress_file.h"
#include "upload/published/run_dir.h"
#include "upload/source/lock_list.h"
#include "upload/source/session_root.h"

/* Of the kernel's list. */
#define TRIAL_LOCK_LINES 16384u

struct trial {
    const struct options *options;
    struct start start;
    struct origin_identity backend;
    unsigned faults;
    unsigned folders;
    bool served;   /**< a folder is, by another process */
    bool declared; /**< the backend has said what it supports */
    bool refused;  /**< it has refused the key */
    bool opened;   /**< the settings could be examined as far as the journals */
};

/* \p why begins with a flag, in whose place the variable or key is named that was used.
 */
static void trial_fail(struct trial *t, char why[512])
{
    option_blame_source(t->options, why);
    message_line("gpufl-agent", "%s", why);
    t->faults++;
}

/* As trial_fail, of what does not fail. */
static void trial_note(const struct trial *t, char why[512])
{
    option_blame_source(t->options, why);
    printf("gpufl-agent: %s\n", why);
}

static void trial_fault(struct trial *t, const char *flag, const char *value,
                        const char *fault)
{
    char why[512];
    snprintf(why, sizeof why, "%s: '%.*s%s': %.190s", flag, MESSAGE_VALUE(value, 300),
             fault);
    trial_fail(t, why);
}

static void say_unread(void *arg, const char *name, const char *near)
{
    (void)arg;
    message_line("gpufl-agent", "%s: no option reads it (%s%s%s)", name,
                 near ? "did you mean " : "see gpufl-agent --help", near ? near : "",
                 near ? "?" : "");
}

static bool trial_note_pid(void *pid, int holder)
{
    *(int *)pid = holder;
    return true;
}

/* \return whether an uploader has the directory \p dir now, as \p who. */
static bool trial_is_served(int dir, char *who, size_t size)
{
    struct stat st;
    int pid = -1;
    if (fstat(dir, &st) == 0) {
        lock_list_each(&lock_list_of_kernel, &st, TRIAL_LOCK_LINES, trial_note_pid, &pid);
    }
    if (pid < 0 && !run_dir_is_served(dir)) {
        return false;
    }
    if (!progress_holder(&sys_real, dir, who, size) && pid > 0) {
        snprintf(who, size, "process %d", pid);
    }
    return true;
}

static void trial_say_served(struct trial *t, int dir, const char *path)
{
    char who[128];
    char why[512];
    const char *which = "";
    bool served = trial_is_served(dir, who, sizeof who);
    if (!served && strcmp(path, "/") != 0) {
        int above = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        served = above >= 0 && trial_is_served(above, who, sizeof who);
        which = "the directory above it ";
        if (above >= 0) {
            close(above);
        }
    }
    if (served) {
        snprintf(
            why, sizeof why,
            "%s: '%.*s%s': %sis served by %s now (a start fails until that one has been "
            "stopped)",
            folders_flag(t->options, path), MESSAGE_VALUE(path, 200), which, who);
        trial_note(t, why);
        t->served = true;
    }
}

/* A job may be yet to come; but where sessions lie deeper, they wait for ever, unless
 * they were sent before. */
static void trial_say_none(struct trial *t, int fd, const char *path)
{
    char why[512];
    char below[512];
    enum session_depth depth = session_depth_of(&sys_real, path, below);
    if (depth == SESSION_DEPTH_BELOW &&
        !journal_read_knows_any(&sys_real, t->options->state_dir, fd)) {
        snprintf(why, sizeof why, "%s: %.490s", folders_flag(t->options, path), below);
        trial_note(t, why);
    } else if (depth == SESSION_DEPTH_NONE) {
        snprintf(why, sizeof why,
                 "%s: '%.*s%s': no session in it yet (" SESSION_DEPTH_EXPECTED ")",
                 folders_flag(t->options, path), MESSAGE_VALUE(path, 300));
        trial_note(t, why);
    }
}

/* What does not hinder the agent for good. */
static void trial_folder(struct trial *t, const char *path)
{
    char why[512];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    t->folders++;
    if (fd >= 0) {
        trial_say_served(t, fd, path);
        trial_say_none(t, fd, path);
        close(fd);
        return;
    }
    snprintf(why, sizeof why, "%s: '%.*s%s': does not exist yet (the agent waits%s)",
             folders_flag(t->options, path), MESSAGE_VALUE(path, 400),
             folders_hint(path));
    trial_note(t, why);
}

static void trial_say_moved(const struct trial *t, const char *folder,
                            const struct origin_history *origin, enum origin_match match)
{
    if (match == ORIGIN_MATCHES || match == ORIGIN_NOT_NOTED ||
        (match == ORIGIN_OTHER_KEY && t->refused)) { /* then it changes nothing */
        return;
    }
    printf("gpufl-agent: %s: '%s': %s than the journal of %s was kept for, at %s: %s\n",
           match == ORIGIN_OTHER_KEY ? "API key" : "--host",
           match == ORIGIN_OTHER_KEY ? "..." : t->backend.url,
           match == ORIGIN_OTHER_KEY ? "another one" : "another backend", folder,
           origin->now.url,
           t->options->same_origin
               ? "by --same-origin it is the same, and gets only what is new"
               : "once it has taken the key, everything but what it says it has is sent "
                 "to it (if it is the same one, start the agent once with "
                 "--same-origin)");
}

static void trial_journal(struct trial *t, const char *folder,
                          const struct origin_history *origin)
{
    const struct origin_identity *backend = &t->backend;
    enum origin_match match = origin_history_match(origin, backend->url, backend->key);
    char why[512];
    if (match == ORIGIN_MATCHES || !t->options->same_origin ||
        !origin_history_was_left(origin, backend->url, backend->key)) {
        trial_say_moved(t, folder, origin, match);
        return;
    }
    snprintf(why, sizeof why, ORIGIN_WAS_LEFT, "--same-origin", backend->url, folder,
             origin->now.url);
    option_blame_source(t->options, why);
    message_line("gpufl-agent", "%s", why);
    t->faults++;
}

static void trial_root(struct trial *t, const char *folder)
{
    struct journal_read journal;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *path = fd >= 0 ? realpath(folder, NULL) : NULL;
    if (path && journal_read_open(&sys_real, t->options->state_dir, fd, path, &journal) ==
                    GPUFL_OK) {
        if (!journal_read_is_empty(&journal)) {
            trial_journal(t, path, &journal.origin);
        }
        journal_read_fini(&journal);
    }
    free(path);
    if (fd >= 0) {
        close(fd);
    }
}

static void trial_folders(struct trial *t)
{
    char path[PATH_MAX];
    for (unsigned i = 0; folders_at(t->options, i, path, sizeof path); i++) {
        trial_folder(t, path);
    }
}

/* As far as they can be read: what a start would send again, or be refused. */
static void trial_journals(struct trial *t)
{
    char path[PATH_MAX];
    bool kept = t->opened && t->options->state == STATE_ON_DISK;
    transport_http_identity(&t->start.transport, &t->backend);
    for (unsigned i = 0; kept && folders_at(t->options, i, path, sizeof path); i++) {
        trial_root(t, path);
    }
}

/* \return NULL when the answer is one to go on with, else what is wrong. */
static const char *trial_judge(const struct trial *t, const struct transport_reply *reply,
                               enum key_check check)
{
    switch (check) {
    case KEY_REFUSED:
        return reply->status == 403 ? KEY_CHECK_SAYS_403
                   " (correct that, or give a key by --token-file)"
               : token_value(&t->start.token)[0]
                   ? KEY_CHECK_SAYS_401 " (give another one by --token-file)"
                   : "the backend asks for an API key (give one by --token-file)";
    case KEY_LATER:
        return reply->status ? "the backend cannot answer now (try again later)"
                             : reply->error;
    case KEY_MOVED:
        return "redirects are not followed (give the URL that it leads to)";
    case KEY_NOWHERE:
        return "no backend answers below this URL (correct --host or --api-path)";
    case KEY_TAKEN:
    case KEY_UNSURE:
        break;
    }
    return NULL;
}

static bool trial_exchange(struct trial *t, enum transport_kind kind,
                           struct transport_reply *reply)
{
    struct transport_request request = {.kind = kind, .fd = -1, .body = ""};
    bool asked = transport_ask(&t->start.transport, &request, reply) == GPUFL_OK;
    if (!asked) {
        trial_fault(t, "--host", t->options->host, "out of memory");
    }
    return asked;
}

static enum key_check trial_ask(struct trial *t, enum transport_kind kind)
{
    struct transport_reply reply;
    char why[400];
    if (!trial_exchange(t, kind, &reply)) {
        return KEY_LATER;
    }
    enum key_check check = key_check_of(kind, &reply, t->declared);
    const char *fault = trial_judge(t, &reply, check);
    if (fault && reply.status) {
        snprintf(why, sizeof why, "HTTP %d: %s", reply.status, fault);
        fault = why;
    }
    if (fault) {
        trial_fault(t, "--host", t->options->host, fault);
    }
    t->refused = t->refused || check == KEY_REFUSED;
    return check;
}

static void say_unused(void *arg, const char *name, const char *why)
{
    (void)arg;
    message_line("gpufl-agent", "%s: changes nothing: %s", name, why);
}

static void say_doubtful(void *arg, const char *name, const char *why)
{
    (void)arg;
    message_line("gpufl-agent", "%s: %s", name, why);
}

static void trial_settings(struct trial *t, bool have_inotify)
{
    const struct log quiet = {.level = LOG_AT_ERROR};
    struct start_mode mode = {
        .log = &quiet, .have_inotify = have_inotify, .state = STATE_TRY};
    struct notify notify;
    char why[512];
    if (!state_trial_runtime(why)) {
        message_line("gpufl-agent", "%s", why);
    }
    if (!notify_open(&notify, why)) {
        message_line("gpufl-agent", "%s", why);
    }
    notify_close(&notify);
    gpufl_status status = start_open(t->options, &mode, &t->start, why);
    t->opened = status == GPUFL_OK || status == GPUFL_BUSY;
    if (t->opened) {
        trial_folders(t);
    }
    if (status == GPUFL_BUSY && t->served) {
        trial_note(t, why); /* it is most likely the same agent that has the address */
    } else if (status != GPUFL_OK) {
        trial_fail(t, why);
    }
}

static void trial_backend(struct trial *t)
{
    struct transport_reply reply;
    t->declared = trial_exchange(t, TRANSPORT_PROBE, &reply) && reply.status >= 200 &&
                  reply.status <= 299 && !reply.web_page;
    if (trial_ask(t, TRANSPORT_KEY) == KEY_UNSURE) {
        trial_ask(t, TRANSPORT_BATCH);
    }
}

int trial_run(const struct options *options, bool have_inotify)
{
    struct trial t = {.options = options};
    unread_env_each(environ, say_unread, NULL);
    option_unused_each(options, say_unused, NULL);
    option_doubtful_each(options, say_doubtful, NULL);
    trial_settings(&t, have_inotify);
    if (t.start.transport.self) {
        trial_backend(&t);
        trial_journals(&t);
    }
    if (!t.faults) {
        printf("gpufl-agent: the settings work%s: %s answers%s, %u %s\n",
               t.served ? " once that uploader has been stopped" : "", options->host,
               token_value(&t.start.token)[0] ? " and takes the key" : "", t.folders,
               plural(t.folders, "folder", "folders"));
    }
    start_close(&t.start);
    return t.faults ? TRIAL_FAILED : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Opens what the agent would open, and asks the backend whether it takes the key. */
#include "agent/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/engine_options.h"
#include "agent/folders.h"
#include "agent/options/option_unused.h"
#include "agent/options/option_value.h"
#include "agent/options/unread_env.h"
#include "agent/state_trial.h"
#include "base/message.h"
#include "base/plural.h"
#include "upload/engine/origin_change.h"
#include "upload/http/key_check.h"
#include "upload/http/transport_ask.h"
#include "upload/http/transport_http.h"
#include "upload/journal/journal_read.h"
#include "upload/source/session_root.h"

struct trial {
    const struct options *options;
    struct token token;
    struct transport transport;
    struct origin_identity backend;
    unsigned faults;
    unsigned folders;
    bool declared; /**< the backend has said what it supports */
};

/* \p why begins with a flag, in whose place the variable or key is named that was used.
 */
static void trial_fail(struct trial *t, char why[512])
{
    option_blame_source(t->options, why);
    message_line("gpufl-agent", "%s", why);
    t->faults++;
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

static void trial_folder(struct trial *t, const char *flag, const char *path)
{
    char reason[512];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char why[512];
    t->folders++;
    if (fd >= 0) {
        close(fd);
        if (session_root_is_session(&sys_real, path, "", reason)) {
            snprintf(why, sizeof why, "%s: %.490s", flag, reason);
            trial_fail(t, why);
        }
    } else if (errno == ENOENT && !t->options->exit_when_drained) {
        snprintf(why, sizeof why, "%s: '%.*s%s': does not exist yet (the agent waits)",
                 flag, MESSAGE_VALUE(path, 400));
        option_blame_source(t->options, why);
        printf("gpufl-agent: %s\n", why);
    } else {
        snprintf(reason, sizeof reason, "%s%s", strerror(errno),
                 errno == ENOENT ? "" : " (expected a directory that can be read)");
        trial_fault(t, flag, path, reason);
    }
}

static void trial_directories(struct trial *t)
{
    const char *lists[] = {t->options->folder, t->options->folders};
    char path[4096];
    char why[512];
    for (size_t i = 0; i < 2; i++) {
        while (folders_next(&lists[i], path, sizeof path)) {
            trial_folder(t, i ? "--folders" : "--folder", path);
        }
    }
    if (state_trial(t->options, why) != GPUFL_OK) {
        trial_fail(t, why);
    }
    if (state_trial_runtime(why) != GPUFL_OK) {
        trial_fail(t, why);
    }
}

static void trial_say_moved(const struct trial *t, const char *folder,
                            const struct origin_history *origin, enum origin_match match)
{
    if (match == ORIGIN_MATCHES || match == ORIGIN_NOT_NOTED) {
        return;
    }
    printf("gpufl-agent: %s: '%s': %s than the journal of %s was kept for, at %s: %s\n",
           match == ORIGIN_OTHER_KEY ? "API key" : "--host",
           match == ORIGIN_OTHER_KEY ? "..." : t->backend.url,
           match == ORIGIN_OTHER_KEY ? "another one" : "another backend", folder,
           origin->now.url,
           t->options->same_origin
               ? "by --same-origin it is the same, and gets only what is new"
               : "everything is sent again, to what counts as another backend (if it is "
                 "the same one, start the agent once with --same-origin)");
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

/* Of the journals that can be read: what a start would send again, or be refused. */
static void trial_journals(struct trial *t)
{
    const char *lists[] = {t->options->folder, t->options->folders};
    char path[4096];
    transport_http_identity(&t->transport, &t->backend);
    for (size_t i = 0; t->options->state == STATE_ON_DISK && i < 2; i++) {
        while (folders_next(&lists[i], path, sizeof path)) {
            trial_root(t, path);
        }
    }
}

/* \return NULL when the answer is one to go on with, else what is wrong. */
static const char *trial_judge(const struct trial *t, const struct transport_reply *reply,
                               enum key_check check)
{
    switch (check) {
    case KEY_REFUSED:
        return token_value(&t->token)[0]
                   ? "the backend refused the API key (give another one by --token-file)"
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
    bool asked = transport_ask(&t->transport, &request, reply) == GPUFL_OK;
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
    return check;
}

/* \return GPUFL_OK, or the first error as the agent would say it. */
static gpufl_status trial_open(struct trial *t, char why[512])
{
    const struct log quiet = {.level = LOG_AT_ERROR};
    const struct options *o = t->options;
    struct engine_channels channels;
    struct java_cursor *cursor = NULL;
    gpufl_status status = folders_read_channels(o, &channels, why);
    status = status == GPUFL_OK ? engine_options_token(o, &t->token, why) : status;
    status = status == GPUFL_OK
                 ? engine_options_transport(o, token_value(&t->token), &t->transport, why)
                 : status;
    status = status == GPUFL_OK ? engine_options_cursor(o, &quiet, &cursor, why) : status;
    java_cursor_close(cursor);
    return status;
}

static void say_unused(void *arg, const char *name, const char *why)
{
    (void)arg;
    message_line("gpufl-agent", "%s: changes nothing: %s", name, why);
}

int trial_run(const struct options *options)
{
    struct trial t = {.options = options};
    char why[512] = "";
    unread_env_each(environ, say_unread, NULL);
    option_unused_each(options, say_unused, NULL);
    if (trial_open(&t, why) != GPUFL_OK) {
        message_line("gpufl-agent", "%s", why);
        t.faults++;
    } else {
        struct transport_reply reply;
        trial_directories(&t);
        trial_journals(&t);
        t.declared = trial_exchange(&t, TRANSPORT_PROBE, &reply) && reply.status >= 200 &&
                     reply.status <= 299 && !reply.web_page;
        if (trial_ask(&t, TRANSPORT_KEY) == KEY_UNSURE) {
            trial_ask(&t, TRANSPORT_BATCH);
        }
    }
    if (!t.faults) {
        printf("gpufl-agent: the settings work: %s answers%s, %u %s\n", options->host,
               token_value(&t.token)[0] ? " and takes the key" : "", t.folders,
               plural(t.folders, "folder", "folders"));
    }
    transport_http_close(&t.transport);
    token_fini(&t.token);
    return t.faults ? TRIAL_FAILED : 0;
}

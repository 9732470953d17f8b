/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the sessions of a directory with what the backend has, one after the other. */
#include "cli/transfer/verb_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/message.h"
#include "base/plural.h"
#include "cli/exit_codes.h"
#include "cli/transfer/directory_fault.h"
#include "cli/transfer/upload_flags.h"
#include "cli/transfer/verify_order.h"
#include "cli/transfer/verify_report.h"
#include "cli/transfer/verify_resend.h"
#include "upload/journal/journal_read.h"
#include "upload/owners/owners.h"
#include "upload/source/directory_mark.h"
#include "upload/source/session_root.h"
#include "upload/upload_logs.h"
#include "upload/upload_options.h"

#define OTHERS_NAMED_MAX 100u

/* One run over a directory. */
struct verifying {
    const struct verify_arguments *arguments;
    struct verify verify;
    struct transport transport;
    struct selection sessions;
    bool all; /* those of other users, too */
    unsigned shown;
    unsigned equal;
    bool *skipped; /* of each session: equal, and not sent again */
    bool resent;   /* one was */
};

static int verify_fail(const char *what, const char *why)
{
    message_line("gpufl verify", "%s: %s", what, why);
    return EXIT_BAD_USE;
}

/* The backend was not asked, or did not answer. */
static int verify_fail_backend(const struct verifying *run, gpufl_status status)
{
    const struct gpufl_upload_options *to = &run->arguments->to;
    upload_names *name = upload_names_of(to);
    if (status == GPUFL_ERR_NOMEM) {
        message_line("gpufl verify", "out of memory");
    } else if (status == GPUFL_ERR_AUTH) {
        message_line("gpufl verify", "%s: %s (give another key)", name("api_key"),
                     run->verify.why);
    } else {
        message_line("gpufl verify", "%s: '%s': %s (%s)", name("backend_url"),
                     to->backend_url, run->verify.why,
                     status == GPUFL_ERR_USAGE
                         ? "gpufl status shows what the journal knows"
                         : "check the URL, or try again later");
    }
    return EXIT_BAD_USE;
}

static void verify_show(struct verifying *run, const struct selected *selected,
                        const struct verify_session *session)
{
    const struct verify_shown shown = {
        .id = selected->id, .path = selected->path, .session = session};
    struct text out = {0};
    if (run->arguments->json) {
        text_puts(&out, run->shown ? "," : "");
        verify_report_json(&out, &shown);
    } else if (session) {
        verify_report_lines(&out, &shown);
    }
    if (out.len && !out.failed) {
        fwrite(out.data, 1, out.len, stdout);
    }
    run->shown++;
    run->equal += session && verify_is_equal(session) && !out.failed;
    text_fini(&out);
}

static gpufl_status verify_and_resend(struct verifying *run,
                                      const struct selected *selected,
                                      struct verify_session *session)
{
    struct verify *v = &run->verify;
    gpufl_status status = verify_session(v, selected, session);
    if (status != GPUFL_OK || !run->arguments->resend) {
        return status;
    }
    if (!verify_can_resend(session)) {
        run->skipped[selected - run->sessions.session] =
            verify_is_equal(session) && verify_has_positions(session);
        return status;
    }
    run->resent = true;
    verify_resend(&run->arguments->to, selected->id, verify_has_positions(session));
    return verify_session(v, selected, session);
}

/* \return EXIT_ALL_DONE to go on. */
static int verify_selected(struct verifying *run, const struct selected *selected,
                           struct verify_session *session)
{
    struct verify *v = &run->verify;
    gpufl_status status = verify_and_resend(run, selected, session);
    if (status == GPUFL_ERR_IO) {
        message_line("gpufl verify", "%s: %s", selected->path, v->why);
        verify_show(run, selected, NULL); /* it may be gone by now */
        return EXIT_ALL_DONE;
    }
    if (status != GPUFL_OK) {
        return verify_fail_backend(run, status);
    }
    verify_show(run, selected, session);
    return EXIT_ALL_DONE;
}

static size_t verify_count(const struct verifying *run, bool own)
{
    size_t count = 0;
    for (size_t i = 0; i < run->sessions.count; i++) {
        count += run->all || run->sessions.session[i].own_user == own;
    }
    return count;
}

static int verify_own(struct verifying *run, struct verify_session *session)
{
    int rc = EXIT_ALL_DONE;
    for (size_t i = 0; rc == EXIT_ALL_DONE && i < run->sessions.count; i++) {
        const struct selected *selected = &run->sessions.session[i];
        if (selected->own_user) {
            rc = verify_selected(run, selected, session);
        }
    }
    return rc;
}

static int verify_others(struct verifying *run, struct verify_session *session)
{
    struct verify_order order;
    struct owners owners = {0};
    const struct selected *selected;
    uint64_t before = run->verify.read_bytes;
    int rc = EXIT_ALL_DONE;
    owners_refresh(&owners, "/etc", NULL, 0);
    bool opened = verify_order_open(&run->sessions, &owners, &order);
    owners_close(&owners);
    if (!opened) {
        return verify_fail_backend(run, GPUFL_ERR_NOMEM);
    }
    while (rc == EXIT_ALL_DONE &&
           (selected = verify_order_next(&order, run->verify.read_bytes - before))) {
        before = run->verify.read_bytes;
        rc = verify_selected(run, selected, session);
        fflush(stdout); /* the next one may take long */
    }
    verify_order_close(&order);
    return rc;
}

/* Anybody can make any number of them, and files of any size: nothing is read of them. */
static void verify_name_others(const struct verifying *run)
{
    size_t others = run->all ? 0 : verify_count(run, false);
    size_t named = 0;
    for (size_t i = 0; i < run->sessions.count && others && named < OTHERS_NAMED_MAX;
         i++) {
        if (!run->sessions.session[i].own_user) {
            printf("%s  of another user, not compared\n", run->sessions.session[i].path);
            named++;
        }
    }
    if (others) {
        printf("%zu %s of other users not compared (gpufl verify --all compares them)\n",
               others, others == 1 ? "directory" : "directories");
    }
}

/* The journal is of one backend: it has to learn that this one has the others, too. */
static void verify_resend_skipped(struct verifying *run, struct record_origin *origin)
{
    const struct gpufl_upload_options *to = &run->arguments->to;
    bool moved = run->resent && verify_resend_moved(to, run->verify.root, origin);
    for (size_t i = 0; moved && i < run->sessions.count; i++) {
        if (run->skipped[i]) {
            verify_resend(to, run->sessions.session[i].id, true);
        }
    }
}

static int verify_all(struct verifying *run)
{
    struct record_origin origin = {0};
    struct verify_session *session = malloc(sizeof *session);
    run->skipped = calloc(run->sessions.count + 1, sizeof *run->skipped);
    int rc = session && run->skipped ? EXIT_ALL_DONE
                                     : verify_fail_backend(run, GPUFL_ERR_NOMEM);
    verify_resend_moved(&run->arguments->to, run->verify.root, &origin);
    fputs(run->arguments->json ? "{\"sessions\":[" : "", stdout);
    rc = rc == EXIT_ALL_DONE ? verify_own(run, session) : rc;
    rc = rc == EXIT_ALL_DONE && run->all ? verify_others(run, session) : rc;
    bool equal = rc == EXIT_ALL_DONE && run->equal == run->shown;
    if (run->arguments->json) {
        printf("],\"not_compared\":%zu,\"equal\":%s}\n",
               run->all ? 0 : verify_count(run, false), equal ? "true" : "false");
    } else if (rc == EXIT_ALL_DONE) {
        verify_name_others(run);
        printf("%u of %u %s equal\n", run->equal, run->shown,
               plural(run->shown, "session", "sessions"));
    }
    verify_resend_skipped(run, &origin);
    free(run->skipped);
    free(session);
    return rc != EXIT_ALL_DONE ? rc : equal ? EXIT_ALL_DONE : EXIT_NOT_ALL;
}

/* Of others, the names alone are read unless they are to be compared. */
static gpufl_status verify_list(struct verifying *run)
{
    struct stat st;
    int root = run->verify.root;
    run->all = run->arguments->all || geteuid() == 0 ||
               (fstat(root, &st) == 0 && st.st_uid == geteuid());
    if (run->all) {
        return select_list(&sys_real, root, 0, &run->sessions);
    }
    gpufl_status status = select_find(&sys_real, root, NULL, &run->sessions);
    if (status == GPUFL_OK) {
        select_read_own(&sys_real, root, &run->sessions);
    }
    return status;
}

static gpufl_status verify_find(struct verifying *run)
{
    const char *id = run->arguments->to.session_id;
    run->all = *id != 0;
    return *id ? select_one(&sys_real, run->verify.root, id, &run->sessions)
               : verify_list(run);
}

static bool verify_take_own(struct selection *sessions, const char *path)
{
    size_t i = 0;
    while (i < sessions->count && strcmp(sessions->session[i].path, path) != 0) {
        i++;
    }
    if (i == sessions->count) {
        struct selected *more =
            array_grown(sessions->session, sessions->count, &sessions->cap, sizeof *more);
        if (!more) {
            return false;
        }
        sessions->session = more;
        more[sessions->count++] = (struct selected){0};
        snprintf(more[i].path, sizeof more[i].path, "%s", path);
    }
    sessions->session[i].own_user = true;
    for (size_t k = 0; k < sessions->count; k++) {
        const char *slash = strrchr(sessions->session[k].path, '/');
        sessions->session[k].id = slash ? slash + 1 : sessions->session[k].path;
    }
    return true;
}

/* Whoever owns the group of a session can close it, and then nothing but the journal
 * tells whose it is. */
static int verify_add_unseen(struct verifying *run, const struct journal_read *journal)
{
    for (size_t i = 0; i < journal->sessions; i++) {
        const char *path = journal->session[i].done.path;
        if (journal->session[i].first != LOOKUP_NONE &&
            directory_is_closed_own(run->verify.root, path,
                                    journal_read_directory(journal, path)) &&
            !verify_take_own(&run->sessions, path)) {
            return verify_fail_backend(run, GPUFL_ERR_NOMEM);
        }
    }
    return EXIT_ALL_DONE;
}

/* Without a journal of this user, all that can be looked at is compared. */
static int verify_read_journal(struct verifying *run)
{
    const char *directory = run->arguments->directory;
    const char *state_dir = run->arguments->to.state_dir;
    struct journal_read journal = {0};
    char *path = realpath(directory, NULL);
    gpufl_status status =
        path ? journal_read_open(&sys_real, *state_dir ? state_dir : NULL,
                                 run->verify.root, path, &journal)
             : GPUFL_ERR_NOT_FOUND;
    bool due = *state_dir && !run->arguments->resend; /* that makes one */
    bool failed = due && status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND;
    int rc = failed               ? verify_fail("--state-dir", journal.why)
             : status == GPUFL_OK ? verify_add_unseen(run, &journal)
                                  : EXIT_ALL_DONE;
    journal_read_fini(&journal);
    free(path);
    return rc;
}

/* \return EXIT_ALL_DONE with run->sessions. */
static int verify_select(struct verifying *run)
{
    const struct verify_arguments *a = run->arguments;
    const char *id = a->to.session_id;
    char why[512];
    if (session_root_is_session(&sys_real, a->directory, "", why)) {
        return verify_fail("DIR", why);
    }
    run->verify.root = open(a->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gpufl_status status = run->verify.root < 0 ? GPUFL_ERR_IO : verify_find(run);
    if (status != GPUFL_OK && status != GPUFL_ERR_NOT_FOUND) {
        return directory_fault("gpufl verify", a->directory, errno);
    }
    if (status != GPUFL_OK) {
        snprintf(why, sizeof why,
                 "'%.128s': no such session in %.250s (expected the name of a directory "
                 "there)",
                 id, a->directory);
        return verify_fail("--session-id", why);
    }
    return *id ? EXIT_ALL_DONE : verify_read_journal(run);
}

/* Where there is nothing to ask for, what cannot work is said, too. */
static int verify_ask_first(struct verifying *run)
{
    gpufl_status status = verify_backend(&run->verify);
    bool empty = verify_count(run, true) == 0;
    if (status == GPUFL_OK && empty) {
        status = verify_key(&run->verify);
    }
    if (status != GPUFL_OK) {
        return verify_fail_backend(run, status);
    }
    const char *directory = run->arguments->directory;
    if (empty && !run->sessions.count &&
        directory_is_above("gpufl verify", directory, run->arguments->to.state_dir)) {
        return EXIT_BAD_USE;
    }
    if (empty) {
        message_line("gpufl verify", "DIR: '%s': there is no session %sto compare%s",
                     directory, run->sessions.count ? "of this user " : "",
                     run->sessions.count ? " (--all compares those of others)"
                                         : " (" SESSION_DEPTH_EXPECTED ")");
    }
    return empty ? EXIT_NOT_ALL : EXIT_ALL_DONE;
}

static int verify_open(struct verifying *run)
{
    const struct gpufl_upload_options *to = &run->arguments->to;
    const struct transport_http_config backend = upload_flags_backend(to);
    char why[512];
    if (upload_options_check(to, upload_names_of(to), why) != GPUFL_OK ||
        transport_http_open(&backend, &run->transport, why) != GPUFL_OK) {
        message_line("gpufl verify", "%s", why);
        return EXIT_BAD_USE;
    }
    upload_flags_say_unused("gpufl verify", &backend);
    run->verify.transport = &run->transport;
    int rc = verify_select(run);
    return rc == EXIT_ALL_DONE ? verify_ask_first(run) : rc;
}

int verb_verify(const struct verify_arguments *a)
{
    struct verifying run = {.arguments = a, .verify = {.sys = &sys_real, .root = -1}};
    run.verify.gz.no_excess = true;
    run.verify.buf = malloc(VERIFY_BUFFER_BYTES);
    int rc =
        run.verify.buf ? verify_open(&run) : verify_fail_backend(&run, GPUFL_ERR_NOMEM);
    if (rc == EXIT_ALL_DONE) {
        rc = verify_all(&run);
    }
    gz_cache_close(&run.verify.gz);
    free(run.verify.buf);
    select_free(&run.sessions);
    if (run.verify.root >= 0) {
        close(run.verify.root);
    }
    transport_http_close(&run.transport);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Compares URL and database by what the holder publishes. Its key is compared where its
 * journal can be read: nothing is published from which others could guess one. */
#include "upload/holder_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upload/http/key_check.h"
#include "upload/http/reply.h"
#include "upload/http/transport_ask.h"
#include "upload/journal/state_dir.h"
#include "upload/published/other_uploader.h"
#include "upload/published/progress_file.h"
#include "upload/upload_result.h"

#define ASK_AGAIN_MS 1000u
#define ASK_EPOCH_MS 5000u
#define UNTOLD_MS    2000u /* it tells each second */

static void holder_origin_end(struct holder_origin *origin, gpufl_status status)
{
    origin->over = true;
    origin->status = status;
}

static void holder_origin_differs(struct upload *u, struct holder_origin *origin,
                                  const char *why, const char *what, const char *option)
{
    bool key = strcmp(option, "api_key") == 0; /* which is not shown */
    holder_origin_end(
        origin,
        upload_result_say(u->result, GPUFL_BUSY,
                          "%s; it sends %s than %s%s%.200s%s (stop it first)", why, what,
                          upload_options_name(u->name, option), key ? "" : " '",
                          key ? "" : u->options.backend_url, key ? "" : "'"));
}

static enum progress_match holder_publishes(const struct upload *u, uint64_t database)
{
    const struct progress_origin here = {u->backend.url, database};
    return progress_compare_origin(&sys_real, u->root, &here);
}

/* Earlier versions do not tell where their journal is: theirs is locked. */
static bool holder_keeps(const struct upload *u, const struct state_place *place)
{
    return progress_tells_state(&sys_real, u->root)
               ? progress_is_kept_in(&sys_real, u->root, place->fd)
               : other_uploader_keeps(place);
}

/* What the journal says of the backend of the holder. */
enum holder_word {
    HOLDER_SAYS_NOTHING,
    HOLDER_SAYS_SAME,
    HOLDER_SAYS_KEY,      /* another one */
    HOLDER_SAYS_DATABASE, /* another one */
};

static enum holder_word holder_word_of(const struct origin_history *history,
                                       const struct upload *u, uint64_t database)
{
    enum origin_match match =
        origin_history_match(history, u->backend.url, u->backend.key);
    if (match == ORIGIN_NOT_NOTED || match == ORIGIN_OTHER_URL) {
        return HOLDER_SAYS_NOTHING; /* the head says which URL that is */
    }
    if (history->now.database && database) {
        return history->now.database == database ? HOLDER_SAYS_SAME
                                                 : HOLDER_SAYS_DATABASE;
    }
    return match == ORIGIN_OTHER_KEY ? HOLDER_SAYS_KEY : HOLDER_SAYS_SAME;
}

bool holder_journal_open(const struct upload *u, struct journal_read *out)
{
    const char *named = *u->options.state_dir ? u->options.state_dir : NULL;
    struct state_place place;
    char fd_path[64];
    char why[512];
    bool opened = false;
    *out = (struct journal_read){0};
    snprintf(fd_path, sizeof fd_path, "/proc/self/fd/%d", u->root);
    char *path = realpath(fd_path, NULL);
    if (path &&
        state_dir_open(named, u->root, path, STATE_READ, &place, why) == GPUFL_OK) {
        opened = holder_keeps(u, &place) &&
                 journal_read_open(&sys_real, named, u->root, path, out) == GPUFL_OK;
        close(place.fd);
    }
    free(path);
    return opened;
}

static enum holder_word holder_read_word(const struct upload *u, uint64_t database)
{
    struct journal_read journal;
    enum holder_word word = HOLDER_SAYS_NOTHING;
    if (holder_journal_open(u, &journal)) {
        word = holder_word_of(&journal.origin, u, database);
        journal_read_fini(&journal);
    }
    return word;
}

static void holder_origin_failed(struct holder_origin *origin,
                                 const struct transport_reply *reply)
{
    char said[160] = "";
    origin->failures++;
    origin->http_status = reply->status;
    if (reply->status == 0) {
        snprintf(origin->error, sizeof origin->error, "%s", reply->error);
        return;
    }
    if (!reply->web_page && !key_check_says(reply->status)) {
        reply_message(reply->body, reply->body_len, said, sizeof said);
    }
    snprintf(origin->error, sizeof origin->error, "HTTP %d%s%s", reply->status,
             *said ? ": " : "", said);
}

/* With the exit code that an upload has without the other uploader. */
static gpufl_status holder_origin_say_failed(const struct upload *u,
                                             const struct holder_origin *origin)
{
    struct upload_result_words words;
    bool over = sys_real.now_ms() >= u->deadline_ms;
    upload_result_words_of(&u->options, u->name, over, &words);
    const char *again = origin->over ? words.correct
                        : over       ? words.longer
                                     : "run it again";
    u->result->http_status = origin->http_status;
    if (!origin->http_status) {
        return upload_result_say(
            u->result, GPUFL_ERR_CONTACT,
            "cannot reach %.200s: %s (nothing is lost; run it again)",
            u->options.backend_url, origin->error);
    }
    return upload_result_say(u->result, GPUFL_PARTIAL,
                             "whether everything was sent is not known: %.200s answered "
                             "%s%s%s (nothing is lost; %s)",
                             u->options.backend_url, origin->error, over ? "; " : "",
                             words.over, again);
}

static enum key_check holder_ask_key(const struct upload *u, struct holder_origin *origin)
{
    static const enum transport_kind kind[] = {TRANSPORT_KEY, TRANSPORT_BATCH};
    struct transport_request request = {.kind = TRANSPORT_PROBE, .fd = -1, .body = ""};
    struct transport_reply reply;
    struct reply_version version = {0};
    if (transport_ask(&u->transport, &request, &reply) != GPUFL_OK) {
        return KEY_LATER;
    }
    enum key_check check = key_check_of(TRANSPORT_PROBE, &reply, false);
    if (check == KEY_LATER) { /* not the same as to know no epochs */
        holder_origin_failed(origin, &reply);
        return check;
    }
    if (reply.status >= 200 && reply.status <= 299) {
        reply_read_version(reply.body, reply.body_len, &version);
        origin->database = version.database;
        origin->epoch = version.positions ? version.epoch : 0;
    }
    for (unsigned i = 0; i < 2 && (i == 0 || check == KEY_UNSURE); i++) {
        request.kind = kind[i];
        if (transport_ask(&u->transport, &request, &reply) != GPUFL_OK) {
            return KEY_LATER;
        }
        check = key_check_of(kind[i], &reply, version.readable);
    }
    if (check != KEY_TAKEN) {
        holder_origin_failed(origin, &reply);
    }
    return check;
}

static void holder_key_refused(struct upload *u, struct holder_origin *origin)
{
    struct upload_result_words words;
    bool asks = origin->http_status == 401 && !*u->options.api_key;
    upload_result_words_of(&u->options, u->name, false, &words);
    u->result->http_status = origin->http_status;
    holder_origin_end(origin,
                      upload_result_say(u->result, GPUFL_ERR_AUTH,
                                        "%s: %s; %s (nothing is lost)", origin->error,
                                        asks ? "the backend asks for an API key"
                                             : key_check_says(origin->http_status),
                                        origin->http_status == 401
                                            ? words.key
                                            : "run it again when that is corrected"));
}

static gpufl_status holder_origin_say_untold(const struct upload *u, const char *why)
{
    return upload_result_say(u->result, GPUFL_BUSY,
                             "%s; it is of an earlier version, which does not tell with "
                             "which API key, and to which database, it sends (restart it "
                             "first)",
                             why);
}

/* Not what the one before has left, nor an upload of another rank, which ends. */
static bool holder_is_an_agent(const struct upload *u)
{
    static const char agent[] = "gpufl-agent ";
    char holder[128];
    return progress_holder(&sys_real, u->root, holder, sizeof holder) &&
           strncmp(holder, agent, sizeof agent - 1) == 0;
}

static void holder_origin_wait_told(struct upload *u, struct holder_origin *origin,
                                    const char *why)
{
    uint64_t now_ms = sys_real.now_ms();
    if (!origin->untold) {
        origin->untold = true;
        origin->told_until_ms = now_ms + UNTOLD_MS;
    } else if (now_ms >= origin->told_until_ms && holder_is_an_agent(u)) {
        holder_origin_end(origin, holder_origin_say_untold(u, why));
    }
}

/* \p origin->database is what the backend has just said. */
static void holder_origin_compare(struct upload *u, struct holder_origin *origin,
                                  enum key_check check, const char *why)
{
    enum progress_match match = holder_publishes(u, origin->database);
    enum holder_word word = match == PROGRESS_MAY_DIFFER && !u->options.same_origin
                                ? holder_read_word(u, origin->database)
                                : HOLDER_SAYS_SAME;
    if (word == HOLDER_SAYS_KEY) {
        holder_origin_differs(u, origin, why, "with another API key", "api_key");
    } else if (check == KEY_TAKEN) {
        origin->failures = 0;
        if (word == HOLDER_SAYS_NOTHING && !progress_tells_state(&sys_real, u->root)) {
            holder_origin_wait_told(u, origin, why);
            return;
        }
        origin->untold = false;
        origin->same = match != PROGRESS_ELSEWHERE && word != HOLDER_SAYS_DATABASE;
    }
}

void holder_origin_ask(struct upload *u, struct holder_origin *origin, const char *why)
{
    uint64_t now_ms = sys_real.now_ms();
    if ((origin->same && !origin->again) || origin->over || now_ms < origin->ask_ms) {
        return;
    }
    if (holder_publishes(u, 0) == PROGRESS_ELSEWHERE) {
        holder_origin_differs(u, origin, why, "to another backend", "backend_url");
        return;
    }
    enum key_check check = holder_ask_key(u, origin);
    if (check == KEY_REFUSED) {
        holder_key_refused(u, origin);
    } else if (check == KEY_MOVED || check == KEY_NOWHERE) {
        origin->over = true;
        origin->status = holder_origin_say_failed(u, origin);
    } else {
        holder_origin_compare(u, origin, check, why);
    }
    bool soon = origin->failures || origin->untold;
    origin->ask_ms = sys_real.now_ms() + (soon ? ASK_AGAIN_MS : ASK_EPOCH_MS);
}

bool holder_origin_is_elsewhere(const struct holder_origin *origin)
{
    return !origin->same && !origin->failures && !origin->untold;
}

bool holder_origin_unknown(struct upload *u, const struct holder_origin *origin,
                           const char *why, gpufl_status *status)
{
    if (origin->failures) {
        *status = holder_origin_say_failed(u, origin);
    } else if (origin->untold) {
        *status = holder_origin_say_untold(u, why);
    } else if (!origin->same) {
        *status = upload_result_say(u->result, GPUFL_BUSY,
                                    "%s; it has sent to another database than that at "
                                    "%s '%.200s' (run it again, or stop it first)",
                                    why, upload_options_name(u->name, "backend_url"),
                                    u->options.backend_url);
    }
    return !origin->same;
}

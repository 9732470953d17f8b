/* SPDX-License-Identifier: Apache-2.0 */
/* Carries requests to the origin, and answers back. */
#include "tests/sim/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/gateway.h"
#include "tests/sim/history.h"
#include "tests/sim/kernel.h"
#include "tests/support/pick.h"

#define TIMEOUT_MS   30000u
#define REQUESTS_MAX 20000u /* of a world; it needs some thousand at most */
/* Questions about a session, and parts that were not expected. Of two uploaders that back
 * off, each sends one a minute. */
#define ASKED_MAX 240u
#define ASKED_MS  (60u * 60 * 1000)
#define SESSIONS  64u

/* A request under way. */
struct letter {
    struct letter *next;
    struct server_request request;
    struct network_end *from; /* NULL = its process is gone */
    void *tag;
    unsigned number;
    uint64_t arrives_ms; /* UINT64_MAX = never, or it has */
    uint64_t again_ms;   /* when it arrives a second time; likewise */
    uint64_t answered_ms;
    bool lost; /* its answer */
    bool repeated;
    bool page; /* the answer is a gateway's */
    int status;
    uint64_t retry_after_ms;
    struct text answer;
};

/* How often a session was asked for since then. */
struct asked {
    char session[129];
    uint64_t since_ms;
    unsigned times;
};

static struct {
    struct server *server;
    struct letter *letters; /* the newest first */
    unsigned last;
    struct asked asked[SESSIONS];
    unsigned sessions;
} network;

void network_begin(struct server *server)
{
    memset(&network, 0, sizeof network);
    network.server = server;
}

static void letter_free(struct letter *letter)
{
    free(letter->request.body);
    text_fini(&letter->answer);
    free(letter);
}

void network_finish(void)
{
    while (network.letters) {
        struct letter *letter = network.letters;
        network.letters = letter->next;
        letter_free(letter);
    }
}

static void copy_name(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void copy_body(struct server_request *r, const struct transport_request *from)
{
    r->len = from->body_len;
    r->body = malloc(r->len + 1);
    const struct kernel_open *open = from->body ? NULL : kernel_of(from->fd);
    if (from->body) {
        memcpy(r->body, from->body, r->len);
    } else if (open) {
        r->len = inode_read(open->inode, 0, r->body, r->len);
    } else {
        r->len = 0;
    }
    r->body[r->len] = '\0';
}

static void copy_request(struct server_request *r, const struct transport_request *from)
{
    *r = (struct server_request){.kind = from->kind,
                                 .has_id = from->window_id && from->window_headers,
                                 .sequence = from->sequence,
                                 .crc32 = from->crc32,
                                 .file = from->file,
                                 .offset = from->offset};
    copy_name(r->session, sizeof r->session, from->session);
    copy_name(r->channel, sizeof r->channel, from->channel);
    copy_name(r->window_id, sizeof r->window_id, from->window_id);
    copy_name(r->encoding, sizeof r->encoding, from->encoding);
    copy_body(r, from);
}

static bool happens(unsigned percent)
{
    return percent && pick(100) < percent;
}

/* When it arrives, how often, and when its sender hears of it. */
static void choose_fate(struct letter *letter)
{
    const struct server *server = network.server;
    uint64_t now = kernel.now_ms;
    uint64_t way = 1 + pick(server->slow_ms ? server->slow_ms : 40);
    letter->arrives_ms = now + way;
    letter->again_ms = UINT64_MAX;
    letter->answered_ms = letter->arrives_ms + 1 + pick(40);
    if (server->down) {
        letter->arrives_ms = UINT64_MAX;
        return;
    }
    if (!happens(server->lossy_percent)) {
        return;
    }
    switch (pick(5)) {
    case 0: /* it does not arrive */
        letter->arrives_ms = UINT64_MAX;
        letter->answered_ms = now + 1 + pick(TIMEOUT_MS);
        break;
    case 1: /* its answer gets lost */
        letter->lost = true;
        letter->answered_ms += pick(TIMEOUT_MS);
        break;
    case 2: /* it arrives when its sender has given up */
        letter->lost = true;
        letter->answered_ms = now + 1 + pick(TIMEOUT_MS);
        letter->arrives_ms = letter->answered_ms + pick(10 * TIMEOUT_MS);
        break;
    case 3: /* a connection ends before the answer, and it is sent again at once */
        letter->repeated = true;
        letter->again_ms = letter->arrives_ms + pick(20);
        letter->answered_ms = letter->again_ms + 1 + pick(20);
        break;
    default: /* a proxy keeps it, and sends it again much later */
        letter->again_ms = letter->arrives_ms + pick(10 * TIMEOUT_MS);
        break;
    }
}

static gpufl_status network_submit(void *self, const struct transport_request *request)
{
    struct network_end *end = self;
    if (end->in_flight >= TRANSPORT_SLOTS_ALL) {
        return GPUFL_BUSY;
    }
    if (!kernel_is_alive(end->pid)) {
        return GPUFL_ERR_IO; /* it was killed in this turn */
    }
    struct letter *letter = calloc(1, sizeof *letter);
    copy_request(&letter->request, request);
    letter->from = end;
    letter->tag = request->tag;
    letter->number = ++network.last;
    if (letter->number > REQUESTS_MAX) {
        history_fail("busy", "%u requests", letter->number);
    }
    choose_fate(letter);
    letter->next = network.letters;
    network.letters = letter;
    end->in_flight++;
    history_say("#%u from %d: %s %.8s %s %zu bytes%s", letter->number, end->pid,
                (const char *[]){"probe", "batch", "complete", "key", "alive", "parts",
                                 "ends", "place"}[request->kind],
                letter->request.session, letter->request.channel, letter->request.len,
                letter->arrives_ms == UINT64_MAX ? ", which is lost" : "");
    return GPUFL_OK;
}

/* Something on the way changes a letter of a line, as nothing should. Batches have no
 * checksum of what they decode to. */
static void change_line(struct server_request *r)
{
    char *lines = r->kind == TRANSPORT_PARTS && !r->encoding[0]
                      ? memchr(r->body, '\n', r->len)
                      : NULL;
    char *pad =
        lines ? memmem(lines, r->len - (size_t)(lines - r->body), "abc", 3) : NULL;
    if (pad) {
        *pad = 'A';
    }
}

static struct asked *asked_of(const char *session)
{
    for (unsigned i = 0; i < network.sessions; i++) {
        if (strcmp(network.asked[i].session, session) == 0) {
            return &network.asked[i];
        }
    }
    if (network.sessions == SESSIONS) {
        return NULL;
    }
    struct asked *asked = &network.asked[network.sessions++];
    *asked = (struct asked){.since_ms = kernel.now_ms};
    copy_name(asked->session, sizeof asked->session, session);
    return asked;
}

/* An answer that changes nothing is not asked for without pause. */
static void count_question(const struct letter *letter)
{
    static const char conflict[] = "\"conflict\"";
    enum transport_kind kind = letter->request.kind;
    const struct text *answer = &letter->answer;
    bool question = kind == TRANSPORT_ENDS || kind == TRANSPORT_PLACE ||
                    kind == TRANSPORT_COMPLETE ||
                    (kind == TRANSPORT_PARTS && answer->len &&
                     memmem(answer->data, answer->len, conflict, sizeof conflict - 1));
    struct asked *asked = question ? asked_of(letter->request.session) : NULL;
    if (asked && kernel.now_ms - asked->since_ms > ASKED_MS) {
        asked->since_ms = kernel.now_ms;
        asked->times = 0;
    }
    if (asked && ++asked->times > ASKED_MAX) {
        history_fail("asks", "%u times in an hour for %.8s", asked->times,
                     asked->session);
    }
}

static void arrive(struct letter *letter, bool again)
{
    struct server *server = network.server;
    text_clear(&letter->answer);
    if (happens(server->lossy_percent) && pick(8) == 0) {
        change_line(&letter->request);
    }
    bool moody = happens(server->moody_percent) && !again;
    letter->status = moody ? gateway_status(server, &letter->request) : 0;
    if (letter->request.kind == server->refuses_kind && !letter->status) {
        letter->status = server->refuses;
    }
    letter->page = letter->status && server->gateway;
    if (!letter->status) {
        letter->status = gateway_pass(server, &letter->request, &letter->answer);
    } else if (letter->status == 429 || letter->status == 503) {
        letter->retry_after_ms = pick(2) * pick(60000);
    }
    text_puts(&letter->answer, letter->page ? "<html>no</html>" : "");
    const char *said = letter->answer.data ? letter->answer.data : "";
    count_question(letter);
    history_say("#%u arrives%s: %d %.*s", letter->number, again ? " again" : "",
                letter->status, (int)strcspn(said, "\n"), said);
}

/* \return the letter that arrives first of those that are due, NULL if none is. */
static struct letter *first_due(void)
{
    struct letter *first = NULL;
    uint64_t at = kernel.now_ms + 1;
    for (struct letter *l = network.letters; l; l = l->next) {
        uint64_t due = l->arrives_ms < l->again_ms ? l->arrives_ms : l->again_ms;
        if (due < at) {
            at = due;
            first = l;
        }
    }
    return first;
}

static void forget_delivered(void)
{
    for (struct letter **link = &network.letters; *link;) {
        struct letter *l = *link;
        bool over = !l->from && l->arrives_ms == UINT64_MAX && l->again_ms == UINT64_MAX;
        if (over) {
            *link = l->next;
            letter_free(l);
        } else {
            link = &l->next;
        }
    }
}

void network_step(void)
{
    for (struct letter *l; (l = first_due());) {
        bool again = l->arrives_ms == UINT64_MAX;
        arrive(l, again);
        *(again ? &l->again_ms : &l->arrives_ms) = UINT64_MAX;
    }
    forget_delivered();
}

uint64_t network_next_ms(void)
{
    uint64_t next = UINT64_MAX;
    for (const struct letter *l = network.letters; l; l = l->next) {
        next = l->arrives_ms < next ? l->arrives_ms : next;
        next = l->again_ms < next ? l->again_ms : next;
        next = l->from && l->answered_ms < next ? l->answered_ms : next;
    }
    return next;
}

static struct letter *reply_for(const struct network_end *end)
{
    struct letter *first = NULL;
    for (struct letter *l = network.letters; l; l = l->next) {
        if (l->from == end && l->answered_ms <= kernel.now_ms &&
            (!first || l->answered_ms < first->answered_ms)) {
            first = l;
        }
    }
    return first;
}

bool network_has_reply(const struct network_end *end)
{
    return reply_for(end) != NULL;
}

static bool network_take(void *self, struct transport_reply *reply)
{
    struct network_end *end = self;
    struct letter *l = reply_for(end);
    if (!l) {
        return false;
    }
    bool silent = l->lost || !l->status;
    *reply = (struct transport_reply){.tag = l->tag,
                                      .kind = l->request.kind,
                                      .status = silent ? 0 : l->status,
                                      .maybe_received = l->lost || l->repeated,
                                      .retry_after_ms = l->retry_after_ms,
                                      .took_ms = 20,
                                      .web_page = l->page && !silent,
                                      .body = ""};
    if (silent) {
        copy_name(reply->error, sizeof reply->error, "the network lost it");
    } else if (l->answer.len) {
        text_clear(&end->last);
        text_append(&end->last, l->answer.data, l->answer.len);
        text_append(&end->last, "", 1);
        reply->body = end->last.data;
        reply->body_len = l->answer.len;
    }
    network.server->unsure |=
        reply->kind == TRANSPORT_BATCH && (reply->maybe_received || reply->status >= 500);
    if (reply->kind == TRANSPORT_PROBE) {
        gateway_note_probe(network.server, reply->status, reply->web_page, &end->doubts);
    }
    history_say("#%u is answered with %d", l->number, reply->status);
    if (l->page) {
        gateway_hear(network.server, &l->request, reply->status);
    }
    l->from = NULL;
    end->in_flight--;
    return true;
}

static void network_poll(void *self, uint64_t timeout_ms, int fd)
{
    (void)self;
    (void)timeout_ms;
    (void)fd;
}

static void network_wakeup(void *self)
{
    (void)self;
}

struct transport network_transport(struct network_end *end)
{
    return (struct transport){.submit = network_submit,
                              .next = network_take,
                              .poll = network_poll,
                              .wakeup = network_wakeup,
                              .self = end};
}

void network_end_dies(struct network_end *end)
{
    for (struct letter *l = network.letters; l; l = l->next) {
        if (l->from == end) {
            network.server->unsure |= l->request.kind == TRANSPORT_BATCH;
            l->from = NULL;
        }
    }
    text_fini(&end->last);
}

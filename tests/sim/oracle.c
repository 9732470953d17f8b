/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what is stored with what was written. */
#include "tests/sim/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "schema/layout.h"
#include "tests/sim/history.h"
#include "tests/sim/lines.h"

#define LINE_MIN_BYTES 40u

/* Without positions, which windows of the existing client have not, what was stored is
 * known from one journal alone. Where that was lost, or where there are two, lines come
 * again or are put into quarantine. */
static bool is_by_journal(const struct world *world, const struct job *job)
{
    const struct server *server = &world->server;
    return (server->kind != SERVER_POSITIONS || server->hid ||
            job->old.layout == OLD_WINDOWS) &&
           (world->state_harmed || world->plan.own_state || world->plan.more_state ||
            server->went_back);
}

static bool may_come_twice(const struct world *world, const struct job *job)
{
    return is_by_journal(world, job) || world->server.kind == SERVER_NOTHING ||
           world->server.doubted;
}

/* Something in front of the origin has refused lines: they are in quarantine or, after
 * 409, as of an origin that has closed the session, given up, and that was said. Only
 * what was perhaps received before counts as stored then. Which lines they were, only a
 * sender that has lost its state may not know. */
static bool was_refused(const struct world *world, const struct job *job, unsigned lines)
{
    const struct plan_world *plan = &world->plan;
    bool lost = world->state_harmed || plan->own_state || plan->more_state;
    unsigned line_bytes = lost ? LINE_MIN_BYTES + 1 : 0;
    uint64_t bytes = 0, given_up = 0;
    for (unsigned i = 0; i < UPLOADERS; i++) {
        given_up += world->uploader[i].given_up;
        bytes += uploader_refused_bytes(&world->uploader[i], job->dir.id, line_bytes);
    }
    uint64_t said = world->server.closed && given_up < lines ? given_up : 0;
    bool enough = job->old.layout ? bytes > 0 : bytes > (lines - said) * LINE_MIN_BYTES;
    return (world->server.closed && (world->server.unsure || given_up >= lines)) ||
           (enough && (world->server.refused || world->server.doubted));
}

/* What retention has deleted does not come back, unless the origin itself does. */
static void judge_expired(const struct world *world, const struct job *job, int channel,
                          const char *stored)
{
    const struct text *expired = &job->stream[channel].expired;
    bool plain = !inode_look(job->inode, LAYOUT_MANIFEST); /* after a power failure */
    if (!expired->len || world->server.kind != SERVER_POSITIONS ||
        world->server.went_back || world->server.hid || is_by_journal(world, job) ||
        job->old.layout || plain) {
        return;
    }
    char *deleted = strndup(expired->data, expired->len);
    for (size_t len; (len = lines_length(stored)); stored += len) {
        if (lines_find(deleted, stored, len)) {
            history_fail("stored again", "%.8s: %.*s", job->dir.id, (int)len - 1, stored);
        }
    }
    free(deleted);
}

/* Lines of a world have one brace: a second one begins behind half a line. What a job
 * writes behind half a line that people have made is whole by itself. A zero is in none:
 * it comes of a file that is made longer. */
static void judge_written(const struct job *job, const char *written, size_t bytes)
{
    size_t len;
    bool ours = !job->old.layout;
    if (ours && strlen(written) < bytes) {
        history_fail("zeros", "%.8s has made a file longer", job->dir.id);
    }
    for (const char *line = written; ours && (len = lines_length(line)); line += len) {
        if (memchr(line + 1, '{', len - 1)) {
            history_fail("half a line", "%.8s has written behind it: %.*s", job->dir.id,
                         (int)len - 1, line);
        }
    }
}

/* What people deleted before it was sent is gone. The origin has to know. */
static void judge_gap(struct world *world, const struct job *job, const char *channel)
{
    struct server *server = &world->server;
    if (server->kind == SERVER_POSITIONS && !server->hid && !server->went_back &&
        !job->old.layout && !(job->harm & ~(JOB_LOST_SEALED | JOB_LOST_FILES)) &&
        server_lacks(server, job->dir.id, channel) == 0) {
        history_fail("a loss that is not told", "%.8s %s", job->dir.id, channel);
    }
}

/* A request that is refused by what is in front of the origin is none to its sender, who
 * makes others of its lines. Where the network sends it once more, and the origin gets
 * it, nothing tells the origin so, without positions. */
static bool came_again(const struct world *world, const char *written, const char *stored)
{
    struct text own = {0};
    struct lines_compared c;
    const struct text *again = &world->server.again;
    char *left = strndup(again->len ? again->data : "", again->len);
    lines_without(&own, stored, left);
    text_append(&own, "", 1);
    lines_compare(&c, written, own.data);
    free(left);
    text_fini(&own);
    return c.twice == 0;
}

static void judge_stream(struct world *world, const struct job *job, int channel,
                         struct lines_compared *c)
{
    const char *name = channel_name((enum channel)channel);
    const struct text *written = &job->stream[channel].written;
    char *stored = server_stored(&world->server, job->dir.id, name);
    char *lines = strndup(written->len ? written->data : "", written->len);
    judge_written(job, lines, written->len);
    lines_compare(c, lines, stored);
    history_say("%.8s %s: %u stored, %u missing, %u twice, %u foreign", job->dir.id, name,
                c->stored, c->missing, c->twice, c->foreign);
    if (c->foreign && !(job->harm & JOB_LOST_FILES)) {
        history_fail("foreign", "%.8s %s: %s", job->dir.id, name, c->first);
    } else if (c->twice && !may_come_twice(world, job) &&
               !came_again(world, lines, stored)) {
        history_fail("twice", "%.8s %s: %u lines: %s", job->dir.id, name, c->twice,
                     c->first);
    }
    judge_expired(world, job, channel, stored);
    if (c->gap) {
        judge_gap(world, job, name);
    }
    free(lines);
    free(stored);
}

static bool may_miss(const struct world *world, const struct job *job)
{
    /* The name of its directory, and of others in it, decide what an existing client's
     * session is. */
    unsigned of_old = job->old.layout ? JOB_MOVED | JOB_HAS_OTHERS : 0;
    return job->harm & (JOB_LOST_POWER | JOB_LOST_FILES | JOB_LOST_SEALED | JOB_HAS_COPY |
                        JOB_EXPIRED | JOB_HELD | of_old) ||
           is_by_journal(world, job) ||
           (world->server.went_back && world->plan.deletes != DELETE_NEVER);
}

/* "Complete" is said early of a writer that cannot be seen: what it writes later is sent,
 * or held if the disk was harmed by then, or if the origin went back to when that was
 * said and the files of then are deleted. That is said here and not to the origin. */
static bool is_held_late(const struct world *world, const struct job *job)
{
    bool said = false;
    for (unsigned i = 0; i < UPLOADERS; i++) {
        const struct text *held = &world->uploader[i].held;
        said |=
            held->len && memmem(held->data, held->len, job->dir.id, strlen(job->dir.id));
    }
    return said && job->harm & JOB_WAS_COMPLETE;
}

/* "Complete" is said of what the disk held, and of the first directory with an id.
 * Without positions, the backend does not know that retention has deleted lines. What was
 * put into quarantine is forgotten with the journal, if the progress file is left. */
static bool may_lack(const struct world *world, const struct job *job, int state)
{
    return job->harm & (JOB_LOST_POWER | JOB_LOST_FILES | JOB_HAS_COPY) ||
           is_held_late(world, job) ||
           (state == 1 && (is_by_journal(world, job) || job->harm & JOB_EXPIRED ||
                           world->server.closed));
}

static bool may_lack_of_disk(const struct world *world, const struct job *job, int state)
{
    return job->harm & JOB_HAS_COPY || is_held_late(world, job) ||
           (state == 1 && (is_by_journal(world, job) || job->harm & JOB_EXPIRED ||
                           world->server.closed)) ||
           job->old.layout;
}

/* A line that a killed writer did not finish is kept back. */
static bool is_torn(const struct job *job)
{
    bool torn = false;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        const struct text *written = &job->stream[c].written;
        torn |= written->len && written->data[written->len - 1] != '\n';
    }
    return torn;
}

/* A backend without positions knows no session before its first line. */
static bool is_unknown(const struct world *world, const struct job *job)
{
    bool wrote = world->server.kind == SERVER_POSITIONS && !world->server.hid;
    for (int c = 0; c < JOB_CHANNELS; c++) {
        wrote |= job->stream[c].written.len > 0;
    }
    return !wrote;
}

/* Where locks of other hosts are not seen, or there are none, nothing shows that a killed
 * writer is gone. */
static bool may_stay_open(const struct world *world, const struct job *job)
{
    bool lockless = world->plan.far || job->old.layout == OLD_SHIFTING;
    return may_miss(world, job) || job->harm & (JOB_HAS_OTHERS | JOB_TORN_PACK) ||
           was_refused(world, job, 0) || is_torn(job) || (lockless && !job->shut_down) ||
           is_unknown(world, job) ||
           world->server.kind == SERVER_NOTHING; /* what comes again opens it */
}

/* \return a line of a file of the channel that is not stored, of \p len bytes; NULL if
 * there is none. */
static const char *unstored_line(const struct inode *file, const char *stored,
                                 const char *field, size_t *len)
{
    const char *end = file->data + file->have;
    for (const char *line = file->data; line < end; line += *len) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (!newline) {
            break;
        }
        *len = (size_t)(newline - line) + 1;
        bool whole = *len > 2 && line[0] == '{' && newline[-1] == '}' &&
                     !memmem(line + 1, *len - 1, "{", 1) && /* behind half a line */
                     memmem(line, *len, field, strlen(field));
        if (whole && !lines_find(stored, line, *len)) {
            return line;
        }
    }
    return NULL;
}

/* A power failure takes the names of what was not synced. */
static bool has_name(const struct world *world, const struct job *job)
{
    return inode_look(world->logs, job->dir.id) == job->inode;
}

/* Whatever happened: what is called complete has each line that the disk holds. */
static void judge_disk(struct world *world, const struct job *job, int channel)
{
    char field[64];
    size_t len;
    const char *name = channel_name((enum channel)channel);
    char *stored = server_stored(&world->server, job->dir.id, name);
    snprintf(field, sizeof field, "\"c\":\"%s\"", name);
    for (unsigned i = 0; has_name(world, job) && i < job->inode->names; i++) {
        const struct inode *file = job->inode->name[i].inode;
        struct layout_name is = layout_parse(job->inode->name[i].name);
        bool lines = is.kind == LAYOUT_ACTIVE || is.kind == LAYOUT_NUMBERED;
        if (!lines || is.gz || !S_ISREG(file->mode) || strcmp(is.channel, name) != 0) {
            continue;
        }
        const char *line = unstored_line(file, stored, field, &len);
        if (line) {
            history_fail("complete of less than the disk has", "%.8s: %s: %.*s",
                         job->dir.id, job->inode->name[i].name, (int)len - 1, line);
        }
    }
    free(stored);
}

static void say_files(const struct job *job)
{
    for (unsigned i = 0; i < job->inode->names; i++) {
        history_say("%.8s has %s, %llu bytes", job->dir.id, job->inode->name[i].name,
                    (unsigned long long)job->inode->name[i].inode->size);
    }
}

/* What is not read may hold records. A copy has not got it. */
static void judge_stray(const struct world *world, const struct job *job)
{
    if (job->stray[0] && !job->old.layout && inode_look(job->inode, job->stray) &&
        !world->plan.far && !(job->harm & JOB_HAS_COPY)) {
        history_fail("complete beside what is not read", "%.8s: %s", job->dir.id,
                     job->stray);
    }
}

/* A line behind half of another one, where people have cut a file, and its job wrote on
 * before it saw that. It cuts both off, unless it was killed before that, and then has
 * begun no other file. What it told shows it, on its boot and host. */
static void judge_merged(const struct world *world, const struct job *job, bool says_all)
{
    bool shown = says_all && !world->plan.jobs_far && !world->plan.far &&
                 !world->plan.untold && !(job->harm & JOB_LOST_POWER);
    for (unsigned i = 0; !job->old.layout && i < job->inode->names; i++) {
        const struct inode *file = job->inode->name[i].inode;
        struct layout_name is = layout_parse(job->inode->name[i].name);
        bool active = is.kind == LAYOUT_ACTIVE;
        if ((!active && is.kind != LAYOUT_NUMBERED) || !S_ISREG(file->mode)) {
            continue;
        }
        size_t len = 0;
        for (uint64_t at = 0; at < file->have; at += len) {
            const char *line = file->data + at;
            const char *newline = memchr(line, '\n', (size_t)(file->have - at));
            len = newline ? (size_t)(newline - line) + 1 : (size_t)(file->have - at);
            bool merged = newline && memchr(line + 1, '{', len - 1);
            if (merged && (shown || job->shut_down || !active)) {
                history_fail("merged", "%.8s: %s: %.*s", job->dir.id,
                             job->inode->name[i].name, (int)len - 1, line);
            }
        }
    }
}

static void judge_job(struct world *world, const struct job *job)
{
    static const char *const states[] = {"open", "complete", "verified", "ended"};
    int state = server_state(&world->server, job->dir.id);
    unsigned missing = 0;
    char first[160] = "";
    say_files(job);
    for (int c = 0; c < JOB_CHANNELS; c++) {
        struct lines_compared found;
        judge_stream(world, job, c, &found);
        if (found.missing && !missing) {
            snprintf(first, sizeof first, "%s", found.first);
        }
        missing += found.missing;
    }
    history_say("%.8s is %s", job->dir.id, states[state]);
    bool says_all = state == 1 || state == 2;
    for (int c = 0; says_all && !may_lack_of_disk(world, job, state) && c < JOB_CHANNELS;
         c++) {
        judge_disk(world, job, c);
    }
    if (says_all) {
        judge_stray(world, job);
    }
    judge_merged(world, job, says_all);
    if (missing && says_all && !may_lack(world, job, state)) {
        history_fail("complete of less", "%.8s: %u lines missing: %s", job->dir.id,
                     missing, first);
    } else if (missing && !may_miss(world, job) && !was_refused(world, job, missing)) {
        history_fail("missing", "%.8s: %u lines: %s", job->dir.id, missing, first);
    } else if (!says_all && !may_stay_open(world, job)) {
        history_fail("not complete", "%.8s is %s", job->dir.id, states[state]);
    } else if (world->plan.missing_max && missing > world->plan.missing_max) {
        history_fail("missing", "%.8s: %u lines: %s", job->dir.id, missing, first);
    } else if (state == 0 && world->plan.closes) {
        history_fail("held", "%.8s is open", job->dir.id);
    } else if (says_all && world->plan.lacks) {
        history_fail("not held", "%.8s is %s", job->dir.id, states[state]);
    }
}

void oracle_judge(struct world *world)
{
    for (unsigned i = 0; i < world->jobs; i++) {
        judge_job(world, &world->job[i]);
    }
}

/* All lines of it are stored by now. */
static void judge_now(struct world *world, const struct job *job, const char *kind)
{
    for (int c = 0; c < JOB_CHANNELS; c++) {
        struct lines_compared found;
        judge_stream(world, job, c, &found);
        if (found.missing) {
            history_fail(kind, "%.8s: %u lines: %s", job->dir.id, found.missing,
                         found.first);
        }
    }
}

void oracle_judge_exit(struct world *world)
{
    for (unsigned i = 0; i < world->jobs; i++) {
        judge_now(world, &world->job[i], "exit status 0");
    }
}

void oracle_judge_time(struct world *world)
{
    for (unsigned i = 0; i < world->jobs; i++) {
        const struct job *job = &world->job[i];
        int state = server_state(&world->server, job->dir.id);
        if (world->plan.lines_in_time) {
            judge_now(world, job, "late");
        }
        if (world->plan.ends_in_time && job->shut_down && state != 1 && state != 2) {
            history_fail("late", "%.8s is not complete", job->dir.id);
        }
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the uploader that serves the directory, or for a turn of its own. */
#include "upload/upload_beside.h"

#include <poll.h>
#include <stdio.h>

#include "upload/holder_ends.h"
#include "upload/holder_left.h"
#include "upload/holder_look.h"
#include "upload/holder_origin.h"
#include "upload/published/progress_file.h"
#include "upload/upload_result.h"
#include "upload/wait_holder.h"

#define ASK_AGAIN_MS     200u
#define SILENT_HOLDER_MS 5000u  /* how long one that shows no progress is waited for */
#define ROOM_WAIT_MS     30000u /* for room that it does not get; it looks every 10 s */
#define HOLD_WAIT_MS     2000u  /* for holds to pass; it tells of them every second */

/* What the other uploader has no room for. */
struct upload_room {
    unsigned waits;    /* so many, … */
    uint64_t since_ms; /* … since then */
};

/* What is known of the other uploader. */
struct upload_waited {
    struct holder_targets *targets;
    struct holder_wait wait;
    struct holder_origin origin;
    struct upload_room room;
    uint64_t asked;     /* for what it has, in this epoch of the backend */
    uint64_t silent_ms; /* until then it may show no progress */
    gpufl_status status;
};

static gpufl_status upload_is_elsewhere(struct upload *u, struct engine_summary *left)
{
    upload_close_engine(u);
    if (u->options.all_sessions) {
        holder_left_count(&sys_real, u->root, &u->selection, left);
    }
    return upload_result_elsewhere(u->result, left);
}

/* \return true if it has had no room for so long that it will not get any. */
static bool upload_waits_for_room(struct upload_room *room, unsigned waits,
                                  uint64_t now_ms)
{
    if (waits == 0 || waits != room->waits) {
        room->waits = waits;
        room->since_ms = now_ms;
    }
    return room->waits && now_ms - room->since_ms >= ROOM_WAIT_MS;
}

/* Anybody can make a session of which the other uploader can send no more. */
static bool upload_holder_has_others(struct upload *u, struct holder_targets *targets,
                                     uint64_t now_ms)
{
    char which[sizeof u->others];
    uint64_t moved = 0;
    bool left =
        u->options.all_sessions && holder_targets_of_others(targets, &moved, which);
    if (!left || moved != u->others_progress || !u->others_since_ms) {
        u->others_progress = moved;
        u->others_since_ms = now_ms;
    }
    left = left && now_ms - u->others_since_ms >= UPLOAD_OTHERS_WAIT_MS;
    snprintf(u->others, sizeof u->others, "%s", left ? which : "");
    return left;
}

/* It has waited long enough. */
static gpufl_status upload_says_waited(struct upload *u, const char *why,
                                       const struct upload_waited *waited)
{
    gpufl_status status = waited->status;
    const struct holder_room *room = &waited->wait.room;
    struct upload_result_words words;
    struct engine_summary left = {0};
    char which[300] = "";
    if (status == GPUFL_PARTIAL && room->waits) {
        return upload_result_no_room(u->result, why, room->waits, room->owner);
    }
    struct journal_read journal;
    bool known = holder_journal_open(u, &journal);
    holder_targets_count(waited->targets, known ? &journal : NULL, &left);
    journal_read_fini(&journal);
    if (status == GPUFL_OK || (status == GPUFL_PARTIAL && left.sessions_kept_back)) {
        return upload_is_elsewhere(u, &left);
    }
    if (status == GPUFL_PARTIAL && u->others[0]) {
        return upload_result_left(u->result, u->others);
    }
    u->over = status != GPUFL_BUSY;
    upload_result_words_of(&u->options, u->name, u->over, &words);
    if (status == GPUFL_BUSY) {
        return upload_result_say(
            u->result, status, "%s%s", why,
            progress_is_readable(&sys_real, u->root)
                ? ""
                : "; it does not tell what it has sent: its file " LAYOUT_PROGRESS
                  " is not there or cannot be read (run it again)");
    }
    bool named = holder_targets_left(waited->targets, which);
    return upload_result_say(u->result, status, "%s: %s%s%s%s (%s)", why,
                             named ? "still waiting for " : "", which, named ? "; " : "",
                             words.over, words.longer);
}

/* \return true if there is nothing more to wait for. */
static bool upload_wait_turn(struct upload *u, struct upload_waited *waited,
                             const char *why)
{
    struct holder_wait *wait = &waited->wait;
    struct holder_origin *origin = &waited->origin;
    unsigned most = (unsigned)u->options.max_retries;
    holder_origin_ask(u, origin, why);
    if (origin->over) {
        return true;
    }
    const struct progress_origin here = {u->backend.url, origin->database};
    wait->origin = &here;
    holder_look_in_epoch(waited->targets, origin->epoch);
    waited->status = wait_for_holder(&sys_real, waited->targets, wait);
    uint64_t now_ms = sys_real.now_ms();
    origin->again = holder_look_doubts(waited->targets);
    if (origin->again && waited->asked != origin->epoch) {
        waited->asked = origin->epoch;
        holder_ends_ask(u, origin, waited->targets);
    }
    if (waited->status == GPUFL_OK) {
        return origin->same || (most && origin->failures > most);
    }
    bool silent = waited->status == GPUFL_BUSY && !holder_origin_is_elsewhere(origin);
    return (silent && now_ms >= waited->silent_ms) ||
           upload_waits_for_room(&waited->room, wait->room.waits, now_ms) ||
           upload_holder_has_others(u, waited->targets, now_ms);
}

/* \return true if it waits no longer: this one has its turn if *status is GPUFL_OK, or
 * cannot have it. */
static bool upload_may_begin(struct upload *u, char why[512], gpufl_status *status)
{
    upload_close_engine(u);
    gpufl_status opened = upload_open_engine(u, why);
    *status = opened == GPUFL_OK || opened == GPUFL_BUSY
                  ? opened
                  : upload_result_say(u->result, opened, "%s", why);
    return opened != GPUFL_BUSY;
}

/* The other uploader may be one that ends, of another rank: then this one has its turn.
 * \return GPUFL_OK with u->engine to go on with, or without when all is sent. */
static gpufl_status upload_wait_turns(struct upload *u, struct upload_waited *waited,
                                      char why[512])
{
    gpufl_status status;
    waited->status = GPUFL_BUSY;
    waited->wait.holds_from_ms = u->start_ms + HOLD_WAIT_MS;
    waited->silent_ms = sys_real.now_ms() + SILENT_HOLDER_MS;
    for (uint64_t now_ms = 0; now_ms < u->deadline_ms; now_ms = sys_real.now_ms()) {
        uint64_t turn_ms = sys_real.now_ms() + ASK_AGAIN_MS;
        turn_ms = turn_ms < u->deadline_ms ? turn_ms : u->deadline_ms;
        waited->wait.deadline_ms = turn_ms;
        if (upload_wait_turn(u, waited, why)) {
            break;
        }
        now_ms = sys_real.now_ms();
        poll(NULL, 0, now_ms < turn_ms ? (int)(turn_ms - now_ms) : 0);
        if (upload_may_begin(u, why, &status)) {
            return status;
        }
    }
    upload_close_engine(u);
    struct holder_origin *origin = &waited->origin;
    if (origin->over || holder_origin_unknown(u, origin, why, &origin->status)) {
        return origin->status;
    }
    return upload_says_waited(u, why, waited);
}

gpufl_status upload_beside(struct upload *u, char why[512])
{
    struct upload_waited waited = {.status = GPUFL_BUSY};
    if (u->options.force) {
        return upload_result_say(u->result, GPUFL_BUSY,
                                 "%s (%s needs it to be stopped first)", why,
                                 upload_options_name(u->name, "force"));
    }
    struct journal_read journal;
    bool known = holder_journal_open(u, &journal);
    gpufl_status status = holder_targets_open(&sys_real, u->root, &u->selection,
                                              known ? &journal : NULL, &waited.targets);
    journal_read_fini(&journal);
    if (status == GPUFL_OK) {
        status = upload_wait_turns(u, &waited, why);
    } else {
        upload_result_say(u->result, status, "out of memory");
    }
    holder_targets_close(waited.targets);
    return status;
}

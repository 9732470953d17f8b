/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the windows in `.tmp` are published, and says why not. */
#include "upload/lifecycle/session_salvage.h"

#include "upload/source/salvage.h"

void session_salvage_stop(struct session *session)
{
    salvage_readings_free(session->readings);
    session->readings = NULL;
}

/* What a salvage reads is progress, too, up to what was there when it began: the files
 * may be compressed, and each is read a few times. */
static void session_salvage_note(struct session *session, uint64_t there, uint64_t read)
{
    if (there && !session->salvage_noted) {
        session->salvage_noted = true;
        session->compare_left += SESSION_COMPARED_FOR_EACH_BYTE * there;
    }
    session_note_compared(session, read);
}

static enum salvage_result session_salvage_run(struct session *session)
{
    struct root *root = session->root;
    size_t before = root->engine->salvage_left;
    uint64_t there = 0;
    session->readings = session->readings ? session->readings : salvage_readings_new();
    const struct salvage_place place = {.sys = root->engine->config.sys,
                                        .log = root->engine->config.log,
                                        .root = root->fd,
                                        .path = session->path,
                                        .id = session->id,
                                        .readings = session->readings,
                                        .budget = &root->engine->salvage_left,
                                        .there = &there,
                                        .lists_many = &root->engine->salvage_lists_many};
    enum salvage_result result =
        session->readings ? salvage_step(&place) : SALVAGE_FAILED;
    session_salvage_note(session, there, before - root->engine->salvage_left);
    if (result != SALVAGE_STEP && result != SALVAGE_MORE) {
        session_salvage_stop(session);
    }
    return result;
}

const char *session_salvage_step(struct session *session, bool unpublished)
{
    struct root *root = session->root;
    const struct engine_config *config = &root->engine->config;
    if (!unpublished) {
        session_salvage_stop(session);
        session->salvage = SESSION_SALVAGE_NONE;
        return NULL;
    }
    if (session->salvage == SESSION_SALVAGE_PERSON) {
        return session->salvage_reason;
    }
    session->salvage = SESSION_SALVAGE_WAITS;
    if (!config->salvage) {
        return "its writer died and left unpublished windows in .tmp: gpufl-agent "
               "--salvage publishes them, or gpufl upload where no agent runs";
    }
    switch (session_salvage_run(session)) {
    case SALVAGE_DONE:
    case SALVAGE_STEP:
    case SALVAGE_MORE:
        session->salvage = SESSION_SALVAGE_RUNS;
        root->list_soon = true; /* the next turn inspects it again */
        return NULL;
    case SALVAGE_LEFT:
        session->salvage = SESSION_SALVAGE_PERSON;
        return "windows in .tmp are damaged or conflict with published ones: check them, "
               "then move or delete them";
    case SALVAGE_FOREIGN:
        return "its .tmp, or a file in it, belongs to another user, or is a session "
               "itself: move it away, or give it to the owner of the session";
    case SALVAGE_CROWDED:
        return "its .tmp has more than 4,096 names, which no writer leaves: move some "
               "away";
    case SALVAGE_BUSY:
        return "another process is publishing the windows in its .tmp";
    case SALVAGE_FAILED:
        break;
    }
    return "the windows in its .tmp cannot be published: run gpufl upload as the job's "
           "user, and make sure that the disk has room";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's parts call of each other: the files named below, and tests. */
#ifndef GPUFL_UPLOAD_ENGINE_ENGINE_INTERNAL_H
#define GPUFL_UPLOAD_ENGINE_ENGINE_INTERNAL_H

#include "upload/engine/engine_state.h"

/* root.c */
gpufl_status root_open(struct engine *engine, const char *path,
                       const struct engine_channels *channels, struct root **out,
                       char why[512]);
void root_close(struct root *root);
struct session *root_session(struct root *root, const char *path, bool create);
void root_drop_session(struct session *session);
void root_say_vanished(const struct root *root, const char *path);
/** Index of a channel's name in the root; -1 when there are too many. */
int root_channel(struct root *root, const char *channel);
uint64_t root_add_quarantine(struct root *root, const struct record_quarantine *record);

/* discovery.c */
void root_list_due(struct root *root, uint64_t now_ms);
void root_list_step(struct root *root, uint64_t now_ms);
void root_touch(struct root *root, const char *path, uint64_t now_ms);
bool root_listing_waits(const struct root *root);
bool root_absent_for_long(const struct root *root, uint32_t listed);
bool root_is_served(int dir);

/* replay.c */
struct replay;
struct replay *replay_open(struct root *root);
void replay_close(struct replay *replay);
void replay_record(void *arg, const struct journal_record *record);
void replay_write_state(void *arg);
struct record_stream stream_record(const struct stream *stream);

/* session_salvage.c */
const char *session_salvage(struct session *session);

/* cleanup.c */
void cleanup_session(struct session *session);
void cleanup_soon(const struct stream *stream);

/* upload_cursor.c */
void upload_cursor_write(struct root *root);

/* session.c */
bool session_silent(const struct session *session, uint64_t now_ms);
bool stream_ends_in_shutdown(const struct stream *stream);
bool session_tells(const struct session *session);
bool session_grew(struct session *session, const char *file, uint64_t now_ms);
bool session_settled(const struct session *session);
bool session_any_held(const struct session *session);
bool session_idle(const struct session *session);
void stream_hold(struct stream *stream, const char *reason);
bool stream_held(const struct stream *stream);
bool stream_waits(const struct stream *stream, uint64_t now_ms);
void session_mark(struct session *session);
void session_mark_later(struct session *session, uint64_t now_ms);
bool session_blocked(const struct session *session);
struct stream *session_stream(struct session *session, const char *channel);
const char *stream_channel(const struct stream *stream);

void session_say_hold(struct session *session, const char *channel, const char *reason,
                      const char **said);
void session_hold(struct session *session, const char *reason);

/* look.c */
uint64_t stream_seen_bytes(const struct stream *stream);
void session_look(struct session *session, uint64_t now_ms);
bool session_is_over(const struct root *root, const char *path);
gpufl_status session_inspect(const struct root *root, const char *path, const char *id,
                             bool known_live, struct look *out);
void session_cannot_be_read(struct session *session, gpufl_status why);
void session_apply(struct session *session, const struct look *look, uint64_t now_ms);

/* next_wait.c */
uint64_t engine_next_wait(struct engine *engine, uint64_t now_ms);

/* completion.c */
void session_set_state(struct session *session, enum session_state state);
/** It is complete at the backend. \return false when the journal does not take it now. */
bool session_done(struct session *session);
void session_complete_step(struct session *session, uint64_t now_ms);
void session_on_complete_reply(struct session *session,
                               const struct transport_reply *reply, uint64_t now_ms);

/* queue.c */
void queue_push(struct queue *queue, struct stream *stream);
struct stream *queue_pop(struct queue *queue);
void queue_append(struct queue *to, struct queue *from);
uint64_t engine_next_flush(const struct engine *engine, uint64_t now_ms);
void stream_enqueue(struct stream *stream, bool live, uint64_t due_ms);

/* offer.c */
bool offers_have_room(const struct engine *engine, uint64_t now_ms);
bool offers_lack_streams(const struct engine *engine, uint64_t now_ms);
void offers_make(struct engine *engine, uint64_t now_ms);
void offers_send(struct engine *engine, uint64_t now_ms);
void offer_free(struct engine *engine, struct offer *offer);
struct offer *offer_restore(struct stream *stream, const struct record_offer *record);
gpufl_status offer_shrink(struct offer *offer);
void offer_to_back(struct engine *engine, struct offer *offer);
bool offer_journal(struct offer *offer);
void offer_drop_frame(struct engine *engine, struct offer *offer);

/* window.c */
enum made { MADE_OFFER, MADE_NOTHING, MADE_STEP };
enum made window_make(struct stream *stream);
gpufl_status window_open(struct stream *stream, struct offer *offer);

/* import_position.c */
void import_position(struct stream *stream);

/* shifted_stream.c */
bool stream_knows_file(struct stream *stream);
enum made stream_next_shifted(struct stream *stream);
enum made stream_dropped_file(struct stream *stream);

/* batch.c */
bool stream_others_done(const struct stream *stream, uint64_t now_ms);
enum made batch_make(struct stream *stream);
struct tail_where stream_where(const struct stream *stream);
struct offer *offer_new(struct stream *stream);
gpufl_status batch_encode(struct offer *offer, size_t raw_len);
gpufl_status batch_reread(struct offer *offer, size_t *raw_len);
enum codec engine_codec(const struct engine *engine);

/* settle.c */
void ack_reply(struct offer *offer, const struct transport_reply *reply, uint64_t now_ms);
bool ack_quarantine(struct stream *stream, const struct record_quarantine *record);

/* quarantine.c */
void quarantine_let_go(struct stream *stream, const struct record_released *record);

/* postpone.c */
void retry_retry(struct offer *offer, const struct transport_reply *reply,
                 uint64_t now_ms);
void retry_quota(struct offer *offer, uint64_t now_ms);
void retry_plain_codec(struct offer *offer, uint64_t now_ms);
void retry_hold(struct offer *offer, const struct transport_reply *reply,
                uint64_t now_ms);

/* origin.c */
bool origin_probing(const struct engine *engine);
unsigned origin_slots(const struct engine *engine);
bool origin_ready(const struct engine *engine, uint64_t now_ms);
void origin_probe(struct engine *engine, uint64_t now_ms);
void origin_on_probe(struct engine *engine, const struct transport_reply *reply,
                     uint64_t now_ms);
void origin_trouble(struct engine *engine, bool is_there);
void origin_ok(struct engine *engine);
void origin_failed(struct engine *engine, uint64_t retry_after_ms, uint64_t now_ms);
void origin_hold(struct engine *engine, int status, const char *reason, uint64_t now_ms);
void engine_problem(struct engine *engine, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

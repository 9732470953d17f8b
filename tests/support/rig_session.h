/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the engine begin with: a rig, a session on it, and what became of that.
 */
#ifndef GPUFL_TESTS_RIG_SESSION_H
#define GPUFL_TESTS_RIG_SESSION_H

#include "tests/support/dirs.h"
#include "tests/support/rig.h"

#define RIG_ID  "11111111-1111-4111-8111-111111111111"
#define RIG_ID2 "22222222-2222-4222-8222-222222222222"

struct rig *rig_new(void);
void rig_delete(struct rig *rig);

/** \p lines lines between a job_start and a shutdown, in each of three channels. */
void rig_fill(struct live_session *session, int lines);

/** A rig with an ended session of \p lines lines a channel; it is not started yet. */
struct rig *rig_ended_session(int lines);

/** Its backend knows positions from now on. \return the rig. */
struct rig *rig_positions_on(struct rig *rig);

/** Removes the journal, as if it had never been; the engine is stopped. */
void rig_lose_journal(struct rig *rig);

/** What is stored of a channel, or of all three, is what its file holds. */
void rig_same_as_file(struct rig *rig, const char *session, const char *channel);
void rig_all_same(struct rig *rig, const char *session);

/** How many requests of that kind there were. */
unsigned rig_count(const struct rig *rig, enum transport_kind kind);

struct engine_summary rig_summary(const struct rig *rig);

#endif

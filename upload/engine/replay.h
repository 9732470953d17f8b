/* SPDX-License-Identifier: Apache-2.0 */
/* Restores the state from the journal's records at start, and writes it as records when
 * the journal is rewritten. */
#ifndef GPUFL_UPLOAD_ENGINE_REPLAY_H
#define GPUFL_UPLOAD_ENGINE_REPLAY_H

#include "upload/core/registry.h"
#include "upload/journal/journal.h"

/** Applies one record to the root \p arg, for journal_open. */
void replay_record(void *arg, const struct journal_record *record);

/** Appends everything known of the root \p arg, for a journal that is rewritten. */
void replay_write_state(void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about a summary that the agent and an upload have in common. */
#ifndef GPUFL_UPLOAD_ENGINE_SUMMARY_TEXT_H
#define GPUFL_UPLOAD_ENGINE_SUMMARY_TEXT_H

#include "upload/engine/engine_report.h"

#define SUMMARY_AWAY_TEXT 640

/** Says which sessions are away, of which there must be one, and the way out: to \p again
 * what was ended, as in "run it again", or to give them up. */
void summary_away_text(const struct engine_summary *summary, const char *again,
                       char out[SUMMARY_AWAY_TEXT]);

#endif

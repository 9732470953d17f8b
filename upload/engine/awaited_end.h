/* SPDX-License-Identifier: Apache-2.0 */
/* Whose end keeps the ends of the other channels of a session back. */
#ifndef GPUFL_UPLOAD_ENGINE_AWAITED_END_H
#define GPUFL_UPLOAD_ENGINE_AWAITED_END_H

#include "upload/engine/engine_report.h"

/** Names in out->awaited the first channel that has ended, and another one of its session
 * whose end is waited for, or why that one waits; "" = there is none. Files are read for
 * that. */
void awaited_end_note(const struct engine *engine, struct engine_summary *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent's options mean for the engine. */
#ifndef GPUFL_AGENT_ENGINE_OPTIONS_H
#define GPUFL_AGENT_ENGINE_OPTIONS_H

#include "agent/options/options.h"
#include "agent/token.h"
#include "upload/engine/engine.h"
#include "upload/http/transport.h"
#include "upload/source/java_cursor.h"

/** Fills \p config from the defaults and \p o; log, transport and syncer are the
 * caller's. */
void engine_options(const struct options *o, struct engine_config *config);

/** How long the watcher gathers events: a fifth of the flush interval, from 2 to 100 ms.
 */
uint64_t engine_options_gather_ms(const struct options *o);

/** The rest of the flush interval, which is the engine's. */
uint64_t engine_options_flush_ms(const struct options *o);

/** Reads the existing agent's positions from --cursor-file.
 *  \return GPUFL_OK with *out, the caller's, or NULL if there is no such file; else an
 * error with the reason in \p why. */
gpufl_status engine_options_cursor(const struct options *o, const struct log *log,
                                   struct java_cursor **out, char why[512]);

/** Reads the API key from --token-file, --token or the systemd credential.
 *  \return GPUFL_OK, or GPUFL_ERR_USAGE with the reason in \p why. */
GPUFL_MUST gpufl_status engine_options_token(const struct options *o, struct token *token,
                                             char why[512]);

/** Opens the transport to --host with \p token; the caller closes it.
 *  \return GPUFL_OK; else an error with the reason in \p why. */
GPUFL_MUST gpufl_status engine_options_transport(const struct options *o,
                                                 const char *token, struct transport *out,
                                                 char why[256]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The API key, from a value or from a file that may be replaced while we run. */
#ifndef GPUFL_AGENT_TOKEN_H
#define GPUFL_AGENT_TOKEN_H

#include <stdbool.h>

#include <gpufl/status.h>

#define TOKEN_MAX 4096

struct token {
    const char *file; /**< NULL = fixed */
    char value[TOKEN_MAX];
};

/** \p file wins over \p value; both may be NULL.
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status token_open(struct token *token, const char *value,
                                   const char *file, char why[512]);

/** Reads the file again. \return true when the key is another now. */
bool token_reload(struct token *token);

/** The key, trimmed; "" = none. */
const char *token_value(const struct token *token);

/** Wipes it. */
void token_fini(struct token *token);

#endif

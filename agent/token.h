/* SPDX-License-Identifier: Apache-2.0 */
/* The API key, from a value or from a file that may be replaced while we run. */
#ifndef GPUFL_AGENT_TOKEN_H
#define GPUFL_AGENT_TOKEN_H

#include <stdbool.h>

#include <gpufl/status.h>

#define TOKEN_MAX 4096

/** The name of a systemd credential that is taken where nothing else is given. */
#define TOKEN_CREDENTIAL "token"

struct token {
    char file[512]; /**< "" = fixed */
    char value[TOKEN_MAX];
};

/** \p file wins over \p value, which is wiped; both may be NULL: then it is the systemd
 * credential, if there is one ($CREDENTIALS_DIRECTORY).
 *  \return GPUFL_OK or GPUFL_ERR_USAGE with one sentence in \p why. */
GPUFL_MUST gpufl_status token_open(struct token *token, char *value, const char *file,
                                   char why[512]);

/** Reads the file again. \return true when the key is another now. */
bool token_reload(struct token *token);

/** The key, trimmed; "" = none. */
const char *token_value(const struct token *token);

/** Wipes it. */
void token_fini(struct token *token);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The API key, from a value or from a file that may be replaced while the agent runs. */
#ifndef GPUFL_AGENT_TOKEN_H
#define GPUFL_AGENT_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#define TOKEN_MAX 4096

/** The name of the systemd credential that is used if neither value nor file is given. */
#define TOKEN_CREDENTIAL "token"

struct token {
    char file[512]; /**< "" = the key came by value */
    char value[TOKEN_MAX];
};

/** Reads the key: \p file beats \p value, which is wiped. Either may be NULL; without
 * both it is the systemd credential ($CREDENTIALS_DIRECTORY), if there is one. \return
 * GPUFL_OK or GPUFL_ERR_USAGE with the value and the reason in \p why. */
GPUFL_MUST gpufl_status token_open(struct token *token, char *value, const char *file,
                                   char why[512]);

/** Reads the file again. \return true if the key has changed. */
bool token_reload(struct token *token);

/** The key, trimmed; "" = none. */
const char *token_value(const struct token *token);

/** Wipes the key from memory. */
void token_fini(struct token *token);

/** Longer than the longest pause before the backend is asked again, so that it has
 * refused the key twice. */
#define TOKEN_GRACE_MS 62000u

/** All zero at first, and for each new key. */
struct token_grace {
    bool refused;
    uint64_t since_ms;
};

/** Notes whether the key is \p refused at \p now_ms. \return true if it is and will be: a
 * key by value cannot change; a file may be replaced within TOKEN_GRACE_MS. */
bool token_grace_is_over(struct token_grace *grace, bool refused, bool from_file,
                         uint64_t now_ms);

#endif

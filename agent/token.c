/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the key. Compares content, since Kubernetes replaces a symlink. */
#include "agent/token.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/named_file.h"

static bool copy_trimmed_token(char out[TOKEN_MAX], const char *value)
{
    while (isspace((unsigned char)*value)) {
        value++;
    }
    size_t len = strlen(value);
    while (len > 0 && isspace((unsigned char)value[len - 1])) {
        len--;
    }
    if (len >= TOKEN_MAX) {
        return false;
    }
    memcpy(out, value, len);
    out[len] = '\0';
    return true;
}

/* \return NULL, or why the file holds no key. */
static const char *read_token_file(const char *file, char out[TOKEN_MAX])
{
    char text[TOKEN_MAX + 1];
    const char *fault = NULL;
    int fd = named_file_open(file, &fault);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (n < 0 && !fault) {
        fault = strerror(errno);
    }
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    if (n >= 0 && strlen(text) != (size_t)n) {
        fault = "not a text file (expected one line with the API key)";
    } else if (n >= 0 && !copy_trimmed_token(out, text)) {
        fault = "longer than 4095 bytes (expected one line with the API key)";
    } else if (n >= 0 && !*out) {
        fault = "empty (write the API key into it)";
    } else if (n >= 0 && strpbrk(out, "\r\n")) {
        fault = "more than one line (expected one line with the API key)";
    }
    explicit_bzero(text, sizeof text);
    return fault;
}

static void choose_token_file(struct token *token, const char *value, const char *file)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    char path[sizeof token->file];
    if (file && *file) {
        snprintf(token->file, sizeof token->file, "%s", file);
    } else if ((!value || !*value) && credentials) {
        int n = snprintf(path, sizeof path, "%s/" TOKEN_CREDENTIAL, credentials);
        if (n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0) {
            memcpy(token->file, path, (size_t)n + 1);
        }
    }
}

gpufl_status token_open(struct token *token, char *value, const char *file, char why[512])
{
    gpufl_status status = GPUFL_OK;
    memset(token, 0, sizeof *token);
    choose_token_file(token, value, file);
    if (token->file[0]) {
        const char *fault = read_token_file(token->file, token->value);
        if (fault) {
            snprintf(why, 512, "'%.*s%s': %s%s", MESSAGE_VALUE(token->file, 300), fault,
                     message_way_out(fault, " (give a file that can be read, with the "
                                            "API key)"));
            status = GPUFL_ERR_USAGE;
        }
    } else if (value && !copy_trimmed_token(token->value, value)) {
        snprintf(why, 512, "the API key is too long (at most %d bytes)", TOKEN_MAX - 1);
        status = GPUFL_ERR_USAGE;
    }
    if (value) {
        explicit_bzero(value, strlen(value));
    }
    return status;
}

bool token_reload(struct token *token)
{
    char fresh[TOKEN_MAX] = "";
    bool changed = token->file[0] && !read_token_file(token->file, fresh) &&
                   strcmp(fresh, token->value) != 0;
    if (changed) {
        memcpy(token->value, fresh, sizeof fresh);
    }
    explicit_bzero(fresh, sizeof fresh);
    return changed;
}

const char *token_value(const struct token *token)
{
    return token->value;
}

void token_fini(struct token *token)
{
    explicit_bzero(token->value, sizeof token->value);
}

bool token_grace_is_over(struct token_grace *grace, bool refused, bool from_file,
                         uint64_t now_ms)
{
    if (refused && !grace->refused) {
        grace->since_ms = now_ms;
    }
    grace->refused = refused;
    return refused && (!from_file || now_ms - grace->since_ms >= TOKEN_GRACE_MS);
}

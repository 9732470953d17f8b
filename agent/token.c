/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the key. Compares content, since Kubernetes replaces a symlink. */
#include "agent/token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int read_token_file(const char *file, char out[TOKEN_MAX])
{
    char text[TOKEN_MAX];
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    int saved = errno;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    if (n >= 0) {
        copy_trimmed_token(out, text);
    }
    explicit_bzero(text, sizeof text);
    errno = saved;
    return n < 0 ? -1 : 0;
}

static void choose_token_file(struct token *token, const char *value, const char *file)
{
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    char path[sizeof token->file];
    if (file && *file) {
        snprintf(token->file, sizeof token->file, "%s", file);
    } else if ((!value || !*value) && credentials) {
        int n = snprintf(path, sizeof path, "%s/" TOKEN_CREDENTIAL, credentials);
        if (n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0) {
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
        if (read_token_file(token->file, token->value) < 0) {
            snprintf(why, 512, "%s: '%.300s': %s",
                     file && *file ? "--token-file" : "token file", token->file,
                     strerror(errno));
            status = GPUFL_ERR_USAGE;
        }
    } else if (value && !copy_trimmed_token(token->value, value)) {
        snprintf(why, 512, "the API key is too long (maximum %d bytes)", TOKEN_MAX - 1);
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
    bool changed = token->file[0] && read_token_file(token->file, fresh) == 0 &&
                   fresh[0] && strcmp(fresh, token->value) != 0;
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

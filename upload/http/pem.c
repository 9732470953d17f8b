/* SPDX-License-Identifier: Apache-2.0 */
/* Finds PEM blocks and checks that base64 and the DER length around them are whole. */
#include "upload/http/pem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"

#define PEM_MAX_BYTES (8u << 20) /* bundles of a system have a quarter of a MiB */
#define DER_HEAD      6u
#define DER_SEQUENCE  0x30u

#define BEGIN "-----BEGIN "
#define END   "-----END "

/* \return its text, the caller's, or NULL with the reason in \p fault. */
static char *pem_read(const char *file, const char **fault)
{
    struct stat st;
    char *text = NULL;
    int fd = named_file_open(file, fault);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &st) < 0) {
        *fault = strerror(errno);
    } else if (st.st_size == 0) {
        *fault = "empty (give a PEM file)";
    } else if (st.st_size > (off_t)PEM_MAX_BYTES) {
        *fault = "larger than 8 MiB (give a PEM file)";
    } else {
        text = calloc(1, (size_t)st.st_size + 1);
        if (!text || read(fd, text, (size_t)st.st_size) < 0) {
            *fault = strerror(errno);
            free(text);
            text = NULL;
        }
    }
    close(fd);
    return text;
}

static int base64_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Whether the DER that begins with \p head ends after \p len bytes. */
static bool der_ends_at(const uint8_t head[DER_HEAD], uint64_t len)
{
    uint64_t inner = head[1];
    unsigned more = 0;
    if (len < 3 || head[0] != DER_SEQUENCE) {
        return false;
    }
    if (inner >= 0x80) {
        more = head[1] & 0x7f;
        inner = 0;
        for (unsigned i = 0; i < more && more <= DER_HEAD - 2; i++) {
            inner = inner << 8 | head[2 + i];
        }
    }
    return more <= DER_HEAD - 2 && len == 2 + more + inner;
}

static bool body_is_whole(const char *at, const char *end)
{
    uint8_t head[DER_HEAD] = {0};
    uint64_t len = 0;
    uint32_t bits = 0;
    unsigned count = 0;
    for (; at < end && *at != '='; at++) {
        int value = base64_value(*at);
        if (value < 0) {
            if (strchr(" \t\r\n", *at)) {
                continue;
            }
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            if (len < DER_HEAD) {
                head[len] = (uint8_t)(bits >> count);
            }
            len++;
        }
    }
    return der_ends_at(head, len);
}

static bool label_is(const char *label, size_t len, enum pem_kind kind)
{
    const char *end = kind == PEM_CERTIFICATE ? "CERTIFICATE" : "PRIVATE KEY";
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(label + len - end_len, end, end_len) == 0;
}

/* \return NULL when \p text has a whole block of \p kind. */
static const char *find_block(const char *text, enum pem_kind kind)
{
    const char *fault = kind == PEM_CERTIFICATE
                            ? "holds no certificate (give a PEM file with -----BEGIN "
                              "CERTIFICATE-----)"
                            : "holds no private key (give a PEM file with -----BEGIN "
                              "PRIVATE KEY-----)";
    for (const char *at = text; (at = strstr(at, BEGIN));) {
        const char *label = at + strlen(BEGIN);
        size_t len = strcspn(label, "-\r\n");
        const char *end = strstr(label, END);
        at = label;
        if (!label_is(label, len, kind)) {
            continue;
        }
        if (!end) {
            return "cut off (copy the whole PEM file)";
        }
        const char *proc = strstr(label, "Proc-Type:");
        if (strncmp(label, "ENCRYPTED", 9) == 0 || (proc && proc < end)) {
            return "has a passphrase (remove it: openssl pkey -in FILE -out NEW)";
        }
        if (body_is_whole(label + len + strspn(label + len, "-"), end)) {
            return NULL;
        }
        fault = "damaged (copy the PEM file again)";
    }
    return fault;
}

const char *pem_fault(const char *file, enum pem_kind kind)
{
    const char *fault = NULL;
    char *text = pem_read(file, &fault);
    if (text) {
        fault = find_block(text, kind);
        explicit_bzero(text, strlen(text));
        free(text);
    }
    return fault;
}

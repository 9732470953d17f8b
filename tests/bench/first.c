/* SPDX-License-Identifier: Apache-2.0 */
/* bench-first: the least that a program has to do until its first batch leaves, if it is
 * linked with libcurl: reads the first MiB of a file, cuts it at a newline, compresses it
 * and posts it. Usage: first URL FILE [CERTIFICATES.pem] */
#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define RAW_BYTES (1u << 20)

static size_t ignore(char *data, size_t size, size_t count, void *arg)
{
    (void)data;
    (void)arg;
    return size * count;
}

static size_t read_lines(const char *path, char *raw)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, raw, RAW_BYTES, 0);
    while (n > 0 && raw[n - 1] != '\n') {
        n--;
    }
    if (n <= 0) {
        perror(path);
        exit(1);
    }
    close(fd);
    return (size_t)n;
}

int main(int argc, char **argv)
{
    char url[512];
    char *raw = malloc(RAW_BYTES);
    size_t cap = ZSTD_compressBound(RAW_BYTES);
    char *frame = malloc(cap);
    if (argc < 3 || !raw || !frame || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return 2;
    }
    size_t len = read_lines(argv[2], raw);
    len = ZSTD_compress(frame, cap, raw, len, 1);
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Encoding: zstd");
    snprintf(url, sizeof url, "%s/api/v1/events/stream", argv[1]);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, curl_slist_append(headers, "Expect:"));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, frame);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    if (argc > 3) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, argv[3]);
    }
    return curl_easy_perform(easy) == CURLE_OK ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Puts memory files in the places of stdout and stderr for a while. */
#include "tests/support/capture.h"

#include "tests/support/check.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void capture_begin(struct capture *capture)
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        capture->kept[i] = dup(STDOUT_FILENO + i);
        capture->memory[i] = memfd_create("capture", MFD_CLOEXEC);
        assert_true(capture->kept[i] >= 0 && capture->memory[i] >= 0);
        assert_true(dup2(capture->memory[i], STDOUT_FILENO + i) >= 0);
    }
}

void capture_end(struct capture *capture)
{
    char *text[2] = {capture->out, capture->err};
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        dup2(capture->kept[i], STDOUT_FILENO + i);
        close(capture->kept[i]);
        ssize_t len = pread(capture->memory[i], text[i], CAPTURE_BYTES - 1, 0);
        text[i][len < 0 ? 0 : len] = '\0';
        close(capture->memory[i]);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Does the steps of a 1.1 writer. */
#include "tests/support/shifting_writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/check.h"
#include "tests/support/dirs.h"
#include "tests/support/pick.h"

struct shifting_writer shifting_writer;

static char *shifting_path(int index, bool gz)
{
    static char path[2][700];
    static int turn;
    char *out = path[turn ^= 1];
    if (index) {
        snprintf(out, sizeof path[0], "%s/" SHIFTING_CHANNEL ".%d.log%s",
                 shifting_writer.dir, index, gz ? ".gz" : "");
    } else {
        snprintf(out, sizeof path[0], "%s/" SHIFTING_CHANNEL ".log%s",
                 shifting_writer.dir, gz ? ".gz" : "");
    }
    return out;
}

static void shifting_append(const char *text)
{
    size_t n = strlen(text);
    dirs_append(shifting_writer.dir, SHIFTING_CHANNEL ".log", text);
    shifting_writer.written =
        realloc(shifting_writer.written, shifting_writer.len + n + 1);
    memcpy(shifting_writer.written + shifting_writer.len, text, n + 1);
    shifting_writer.len += n;
}

void shifting_writer_line(void)
{
    char pad[900];
    char text[1200];
    struct stat st;
    if (shifting_writer.alike &&
        (stat(shifting_path(0, false), &st) < 0 || st.st_size == 0)) {
        shifting_append("{\"type\":\"process_info\",\"app\":\"train\"}\n");
    }
    size_t n = pick(8) ? pick(20) : pick(sizeof pad);
    memset(pad, 'x', n);
    pad[n] = '\0';
    snprintf(text, sizeof text,
             "{\"type\":\"%s\",\"session_id\":\"" SHIFTING_ID
             "\",\"n\":%d,\"pad\":\"%s\"}\n",
             shifting_writer.line ? "x" : "job_start", shifting_writer.line, pad);
    shifting_writer.line++;
    shifting_append(text);
}

/* Half of it first, as another step sees it; then the whole file. */
static void shifting_compress(int index, bool half)
{
    static char data[1 << 20];
    int fd = open(shifting_path(index, false), O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof data) : -1;
    if (fd >= 0) {
        close(fd);
    }
    assert_true(n > 0 && (size_t)n < sizeof data);
    gzFile file = gzopen(shifting_path(index, true), "wb");
    gzwrite(file, data, (unsigned)n);
    gzclose(file);
    struct stat st;
    if (half && stat(shifting_path(index, true), &st) == 0) {
        assert_int_equal(truncate(shifting_path(index, true), st.st_size / 2), 0);
    }
}

static void shifting_begin(void)
{
    unlink(shifting_path(SHIFTING_KEPT, false));
    unlink(shifting_path(SHIFTING_KEPT, true));
    shifting_writer.phase = SHIFTING_SHIFTS;
    shifting_writer.shifting = SHIFTING_KEPT - 1;
    shifting_writer.rotations++;
}

static void shifting_shift_one(void)
{
    for (; shifting_writer.shifting > 0; shifting_writer.shifting--) {
        for (int gz = 1; gz >= 0; gz--) {
            if (access(shifting_path(shifting_writer.shifting, gz), F_OK) == 0) {
                char *from = shifting_path(shifting_writer.shifting, gz);
                assert_int_equal(
                    rename(from, shifting_path(shifting_writer.shifting + 1, gz)), 0);
                shifting_writer.shifting--;
                return;
            }
        }
    }
    shifting_writer.phase = SHIFTING_RETIRES;
}

void shifting_writer_step(void)
{
    struct stat st;
    switch (shifting_writer.phase) {
    case SHIFTING_WRITES:
        if (shifting_writer.wants_end) {
            shifting_append("{\"type\":\"shutdown\",\"session_id\":\"" SHIFTING_ID
                            "\"}\n");
            shifting_writer.phase =
                shifting_writer.compresses ? SHIFTING_CLOSES : SHIFTING_OVER;
        } else if (pick(4) == 0 && stat(shifting_path(0, false), &st) == 0 &&
                   st.st_size) {
            shifting_begin();
        } else {
            shifting_writer_line();
        }
        break;
    case SHIFTING_SHIFTS:
        shifting_shift_one();
        break;
    case SHIFTING_RETIRES:
        rename(shifting_path(0, false), shifting_path(1, false));
        shifting_writer.phase =
            shifting_writer.compresses ? SHIFTING_COMPRESSES : SHIFTING_WRITES;
        break;
    case SHIFTING_COMPRESSES:
        shifting_compress(1, pick(2));
        shifting_writer.phase = pick(2) ? SHIFTING_COMPRESSES : SHIFTING_DELETES_RAW;
        break;
    case SHIFTING_DELETES_RAW:
        shifting_compress(1, false);
        unlink(shifting_path(1, false));
        shifting_writer.phase = SHIFTING_WRITES;
        break;
    case SHIFTING_CLOSES:
        shifting_compress(0, pick(2));
        shifting_writer.phase = pick(2) ? SHIFTING_CLOSES : SHIFTING_DELETES_ACTIVE;
        break;
    case SHIFTING_DELETES_ACTIVE:
        shifting_compress(0, false);
        unlink(shifting_path(0, false));
        shifting_writer.phase = SHIFTING_OVER;
        break;
    case SHIFTING_OVER:
        break;
    }
}

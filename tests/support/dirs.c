/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the directories that tests work on. */
#include "tests/support/dirs.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"

#include "base/boot_id.h"
#include "base/crc32c.h"
#include "base/process_identity.h"
#include "schema/layout.h"

char *dirs_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[400];
    snprintf(path, sizeof path, "%s/gpufl-test-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(path));
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void dirs_remove(char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

void dirs_append(const char *dir, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* \p more ends the object. */
static void live_manifest(const struct live_session *s, const char *more)
{
    char text[1024];
    struct process_identity self;
    process_identity_read(&self);
    snprintf(text, sizeof text,
             "{\"schema_version\":1,\"type\":\"gpufl_session\",\"layout\":\"live\","
             "\"session_id\":\"%s\",\"pid\":1,\"boot_id\":\"%s\",\"start_ns\":1%s}\n",
             s->id, self.boot_id, more);
    dirs_append(s->dir, LAYOUT_MANIFEST, text);
}

void live_open(struct live_session *s, const char *root, const char *id)
{
    char path[700];
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(s->dir, sizeof s->dir, "%s/%s", root, id);
    assert_int_equal(mkdir(s->dir, 0755), 0);
    live_manifest(s, "");
    snprintf(path, sizeof path, "%s/%s", s->dir, LAYOUT_LOCK);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(s->lock_fd, F_OFD_SETLK, &lock), 0);
}

void live_list(const struct live_session *s, const char *channels)
{
    char more[512];
    char path[700];
    snprintf(path, sizeof path, "%s/" LAYOUT_MANIFEST, s->dir);
    assert_int_equal(unlink(path), 0);
    snprintf(more, sizeof more, ",\"channels\":[%s]", channels);
    live_manifest(s, more);
}

static bool live_is_first(const struct live_session *s, const char *channel)
{
    char active[700];
    char sealed[700];
    snprintf(active, sizeof active, "%s/%s.log", s->dir, channel);
    snprintf(sealed, sizeof sealed, "%s/%s.1.log", s->dir, channel);
    return access(active, F_OK) < 0 && access(sealed, F_OK) < 0;
}

void live_line(struct live_session *s, const char *channel, const char *type, int n)
{
    char name[64];
    char text[256];
    snprintf(name, sizeof name, "%s.log", channel);
    bool first = strcmp(type, "job_start") != 0 && live_is_first(s, channel);
    if (first && strcmp(type, "shutdown") == 0) {
        live_line(s, channel, "job_start", n);
    } else if (first) {
        type = "job_start";
    }
    snprintf(text, sizeof text, "{\"type\":\"%s\",\"session_id\":\"%s\",\"n\":%d}\n",
             type, s->id, n);
    dirs_append(s->dir, name, text);
}

void live_rotate(struct live_session *s, const char *channel, unsigned n)
{
    char from[700];
    char to[700];
    snprintf(from, sizeof from, "%s/%s.log", s->dir, channel);
    snprintf(to, sizeof to, "%s/%s.%u.log", s->dir, channel, n);
    assert_int_equal(rename(from, to), 0);
}

void live_tell(const struct live_session *s, const char *boot_id, const char *channel,
               int number, long bytes)
{
    char text[300];
    char mine[BOOT_ID_TEXT];
    boot_id_get(mine);
    int len = snprintf(text, sizeof text,
                       "{\"boot_id\":\"%s\",\"active\":{\"%s\":%d},"
                       "\"bytes\":{\"%s\":%ld}}\n",
                       boot_id ? boot_id : mine, channel, number, channel, bytes);
    assert_int_equal(ftruncate(s->lock_fd, 0), 0);
    assert_int_equal(pwrite(s->lock_fd, text, (size_t)len, 0), len);
}

void live_tell_file(const struct live_session *s, const char *boot_id,
                    const struct live_told *told)
{
    char text[512];
    char mine[BOOT_ID_TEXT];
    char lock_file[LAYOUT_LOCK_FILE_TEXT];
    struct stat st;
    boot_id_get(mine);
    assert_int_equal(fstat(s->lock_fd, &st), 0);
    layout_lock_file(lock_file, st.st_dev, st.st_ino + told->copied);
    int len = snprintf(
        text, sizeof text,
        "{\"boot_id\":\"%s\",\"lock_file\":\"%s\",\"active\":{\"device\":1},"
        "\"bytes\":{\"device\":%ld},\"before\":{\"device\":%ld},"
        "\"inodes\":{\"device\":%ld}",
        boot_id ? boot_id : mine, lock_file, told->bytes, told->before, told->inode);
    len += snprintf(text + len, sizeof text - (size_t)len, LAYOUT_TOLD_CRC "%u}\n",
                    crc32c(0, text, (size_t)len) + told->torn);
    assert_int_equal(ftruncate(s->lock_fd, 0), 0);
    assert_int_equal(pwrite(s->lock_fd, text, (size_t)len, 0), len);
}

void live_close(struct live_session *s)
{
    close(s->lock_fd);
    s->lock_fd = -1;
}

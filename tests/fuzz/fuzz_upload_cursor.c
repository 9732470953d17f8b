/* SPDX-License-Identifier: Apache-2.0 */
/* An upload cursor of any bytes: it is read, and what is added to it is JSON. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_text.h"
#include "upload/core/session.h"
#include "upload/engine/upload_cursor.h"
#include "upload/source/identity.h"

static struct engine engine;
static struct root root = {.engine = &engine};
static union {
    struct session session;
    char room[sizeof(struct session) + 8];
} done = {.session = {.state = SESSION_DONE}};

static void open_root(void)
{
    static char path[] = "/tmp/gpufl-fuzz-XXXXXX";
    if (!mkdtemp(path)) {
        abort();
    }
    root.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    engine.config.sys = &sys_real;
    done.session.root = &root;
    done.session.id = "s";
    root.sessions = &done.session;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    size_t len;
    if (!root.fd) {
        open_root();
    }
    if (file_replace(&sys_real, root.fd, LAYOUT_UPLOAD_CURSOR, data, size, false) !=
        GPUFL_OK) {
        abort();
    }
    (void)upload_cursor_write(&root);
    if (file_read(&sys_real, root.fd, LAYOUT_UPLOAD_CURSOR, 1u << 26, &text, &len) !=
        GPUFL_OK) {
        abort();
    }
    if (!json_is_object(text, len, 64) || !strstr(text, "\"completed_sessions\":{")) {
        __builtin_trap();
    }
    free(text);
    return 0;
}

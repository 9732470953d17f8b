/* SPDX-License-Identifier: Apache-2.0 */
/* A job with another file under the number of standard error. Usage: other_stderr LOG_DIR
 * FILE WHEN: "before" a session begins, which is where messages go, or "within" it, as a
 * job does that has closed its standard error, whose next file gets the number. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gpufl/gpufl.h>

/* In one step: between close(2) and open(2), a file that the GPU's driver opens as it is
 * loaded by a thread of gpufl may get the number. */
static int take_number(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bool taken = fd >= 0 && dup2(fd, 2) == 2 && write(2, "weights\n", 8) == 8;
    close(fd);
    return taken ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    char remove[4096];
    if (argc < 4 || (strcmp(argv[3], "before") == 0 && take_number(argv[2]) < 0)) {
        return 2;
    }
    options.log_path = argv[1];
    if (gpufl_init(&options) != GPUFL_OK ||
        (strcmp(argv[3], "within") == 0 && take_number(argv[2]) < 0)) {
        return 3;
    }
    snprintf(remove, sizeof remove, "rm -r %s", argv[1]);
    if (system(remove) != 0) {
        return 4;
    }
    gpufl_shutdown();
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes sure that what a program printed has been written. */
#include "base/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXIT_NOT_WRITTEN 2

int standard_output_end(const char *program, int rc)
{
    errno = EIO; /* if the write that failed was an earlier one */
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return rc;
    }
    fprintf(stderr, "%s: cannot write to standard output: %s\n", program,
            strerror(errno));
    return EXIT_NOT_WRITTEN;
}

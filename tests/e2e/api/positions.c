/* SPDX-License-Identifier: Apache-2.0 */
/* As positions.cpp; in C, break and continue leave only the block. */
#include <gpufl/gpufl.h>

#include <stdio.h>

/* On one line, whoever formats it. */
#define TWO GFL_SCOPE("two") GFL_SCOPE("of a line")

static void beside_else(bool train)
{
    if (train)
        GFL_SCOPE("then")
        {
            printf("then ");
        }
    else
        printf("else ");
    if (train)
        printf("first ");
    else
        GFL_SCOPE("in else")
        {
            printf("second ");
        }
    if (train)
        GFL_SCOPE("alone")
        {
            printf("alone ");
        }
}

static void before_if(bool train)
{
    GFL_SCOPE("around")
    if (train)
        printf("yes ");
    else
        printf("no ");
    GFL_SCOPE("outer")
    GFL_SCOPE("inner") printf("nested ");
    TWO printf("two ");
    GFL_SCOPE("empty");
    if (train)
        GFL_SCOPE("empty");
    else
        TWO;
}

static void in_loops(void)
{
    for (int i = 0; i < 3; i++)
        GFL_SCOPE("for")
        {
            if (i == 1) {
                continue;
            }
            if (i == 2) {
                break;
            }
            printf("%d ", i);
        }
    int left = 2;
    while (left)
        GFL_SCOPE("while") left--;
}

int main(int argc, char **argv)
{
    struct gpufl_init_options options = GPUFL_INIT_OPTIONS_DEFAULT;
    options.log_path = argc > 1 ? argv[1] : "";
    options.backend = GPUFL_BACKEND_NONE;
    if (gpufl_init(&options) != GPUFL_OK) {
        return 3;
    }
    beside_else(true);
    beside_else(false);
    before_if(true);
    before_if(false);
    in_loops();
    gpufl_shutdown();
    puts("");
    return 0;
}

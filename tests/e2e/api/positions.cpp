/* SPDX-License-Identifier: Apache-2.0 */
/* GFL_SCOPE wherever a statement may stand, without braces around it. Prints what was run. */
#include <gpufl/gpufl.hpp>

#include <cstdio>
#include <string>

/* On one line, whoever formats it. */
#define TWO GFL_SCOPE("two") GFL_SCOPE("of a line")

static std::string ran;

static void beside_else(bool train)
{
    if (train)
        GFL_SCOPE("then") { ran += "then "; }
    else
        ran += "else ";
    if (train)
        ran += "first ";
    else
        GFL_SCOPE("in else") { ran += "second "; }
    if (train)
        GFL_SCOPE("alone") { ran += "alone "; }
    if (train)
        GFL_SCOPE("chain") ran += "1 ";
    else if (ran.empty())
        GFL_SCOPE("chain") ran += "2 ";
    else
        GFL_SCOPE("chain") ran += "3 ";
}

/* An `if` within the block keeps its own else. */
static void before_if(bool train)
{
    GFL_SCOPE("around")
    if (train)
        ran += "yes ";
    else
        ran += "no ";
    GFL_SCOPE("outer")
    GFL_SCOPE("inner") ran += "nested ";
    TWO ran += "two ";
    GFL_SCOPE("empty");
    if (train)
        GFL_SCOPE("empty");
    else
        TWO;
}

static void in_loops()
{
    for (int i = 0; i < 9; i++)
        GFL_SCOPE("for")
        {
            if (i == 1) {
                continue;
            }
            if (i == 3) {
                break;
            }
            ran += std::to_string(i) + " ";
        }
    int left = 2;
    while (left)
        GFL_SCOPE("while") left--;
    do
        GFL_SCOPE("do")
        {
            continue;
        }
    while (false);
    switch (left) {
    case 0:
        GFL_SCOPE(std::string("case")) { break; }
    default:
        ran += "not reached ";
    }
}

int main(int argc, char **argv)
{
    gpufl::InitOptions opts;
    opts.log_path = argc > 1 ? argv[1] : "";
    opts.backend = gpufl::BackendKind::None;
    if (!gpufl::init(opts)) {
        return 3;
    }
    beside_else(true);
    beside_else(false);
    before_if(true);
    before_if(false);
    in_loops();
    gpufl::shutdown();
    std::puts(ran.c_str());
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The second unit: the header's functions are inline. */
#include <gpufl/gpufl.hpp>

int second_unit();

int second_unit()
{
    gpufl::ScopedMonitor scope("off");
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* S2-35: must not compile; the option is called continuous_system_sampling. */
#include <gpufl/gpufl.hpp>

void old_name();
void old_name()
{
    gpufl::InitOptions o;
    o.sampling_auto_start = true;
}

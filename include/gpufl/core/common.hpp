/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that include this header of the existing client: all is in gpufl.hpp. */
#ifndef GPUFL_CORE_COMMON_HPP
#define GPUFL_CORE_COMMON_HPP

#include <gpufl/gpufl.hpp>

#endif

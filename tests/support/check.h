/* SPDX-License-Identifier: Apache-2.0 */
/* What every test includes first. cmocka.h needs these four before it. */
#ifndef GPUFL_TESTS_CHECK_H
#define GPUFL_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

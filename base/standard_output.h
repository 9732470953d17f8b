/* SPDX-License-Identifier: Apache-2.0 */
/* Makes sure that what a program printed has been written. */
#ifndef GPUFL_BASE_STANDARD_OUTPUT_H
#define GPUFL_BASE_STANDARD_OUTPUT_H

/** Flushes stdout, at the end of \p program. \return \p rc, or 2 if something could not
 * be written, which is then said on stderr. */
int standard_output_end(const char *program, int rc);

#endif

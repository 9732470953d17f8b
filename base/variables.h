/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that look like a program's own. */
#ifndef GPUFL_BASE_VARIABLES_H
#define GPUFL_BASE_VARIABLES_H

typedef void variables_visit(void *arg, const char *name);

/** Calls \p visit for the name of each variable in \p environment (as environ(7)) that
 * begins with \p prefix, except for those that Kubernetes makes. */
void variables_each(char *const *environment, const char *prefix, variables_visit *visit,
                    void *arg);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that look like a program's own. */
#ifndef GPUFL_BASE_VARIABLES_H
#define GPUFL_BASE_VARIABLES_H

typedef void variables_visit(void *arg, const char *name);

/** Calls \p visit for the name of each variable in \p environment (as environ(7), NULL =
 * none) that begins with \p prefix, except for those that Kubernetes makes. */
void variables_each(char *const *environment, const char *prefix, variables_visit *visit,
                    void *arg);

/** \p meant is the rest of the name, behind "GPUFL_", of the one that is near. */
typedef void variables_say(void *arg, const char *name, const char *meant);

/** Says each variable in \p environment (as environ(7)) that begins with GPUFL_, that
 * neither the recorder nor gpufl nor the existing client reads, and that is one slip
 * away from one which the first two do: others may have variables that begin so. */
void variables_each_unread(char *const *environment, variables_say *say, void *arg);

#endif

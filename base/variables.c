/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the variables that begin as a program's own do. */
#include "base/variables.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE_NAME_MAX 128

/* Kubernetes gives each container variables for each service: for one that is named
 * gpufl-agent or gpufl-agent-metrics they begin as ours do.
 * https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
static bool is_of_kubernetes(const char *name)
{
    size_t len = strlen(name);
    return strstr(name, "_SERVICE_HOST") || strstr(name, "_SERVICE_PORT") ||
           strstr(name, "_PORT_") || (len > 5 && strcmp(name + len - 5, "_PORT") == 0);
}

void variables_each(char *const *environment, const char *prefix, variables_visit *visit,
                    void *arg)
{
    for (; *environment; environment++) {
        char name[VARIABLE_NAME_MAX];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*environment, "="),
                 *environment);
        if (strncmp(name, prefix, strlen(prefix)) == 0 && !is_of_kubernetes(name)) {
            visit(arg, name);
        }
    }
}

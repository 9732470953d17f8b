/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock, as far as it concerns names and files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/sim/calls.h"
#include "tests/sim/kernel.h"

#define VERSION 3 /* without ports: the network of a world has none */

/* On each processor; headers of many systems are older. */
enum { CREATE_RULES = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

int __wrap_prctl(int option, ...)
{
    (void)option; /* PR_SET_NO_NEW_PRIVS: it starts no programs */
    return kernel_may() ? 0 : -1;
}

bool calls_allowed(const struct inode *dir, const struct inode *file, uint64_t access)
{
    const struct inode *rules = kernel_self()->rules;
    const struct inode *at = dir;
    for (bool more = rules != NULL; more; at = at->parent) {
        for (unsigned i = 0; i < kernel.rules; i++) {
            const struct kernel_rule *rule = &kernel.rule[i];
            bool matches = rule->below == at || (file && rule->below == file);
            access &= rule->rules == rules && matches ? ~rule->access : ~UINT64_C(0);
        }
        more = at != at->parent;
    }
    return !rules || !access;
}

static long make_rules(const void *attr)
{
    return attr ? kernel_open(inode_make(S_IFREG, 0), O_RDWR, "rules") : VERSION;
}

/* struct landlock_path_beneath_attr, which is packed. */
static long add_rule(const struct kernel_open *rules, const char *attr)
{
    uint64_t access;
    int32_t fd;
    memcpy(&access, attr, sizeof access);
    memcpy(&fd, attr + sizeof access, sizeof fd);
    const struct kernel_open *below = kernel_of(fd);
    if (!rules || !below) {
        return -1;
    }
    if (kernel.rules == KERNEL_RULES_MAX) {
        abort();
    }
    kernel.rule[kernel.rules++] = (struct kernel_rule){
        .rules = rules->inode, .below = below->inode, .access = access};
    return 0;
}

long calls_confine(long number, va_list list)
{
    if (!kernel_may()) {
        return -1;
    }
    if (number == CREATE_RULES) {
        return make_rules(va_arg(list, const void *));
    }
    const struct kernel_open *rules = kernel_of(va_arg(list, int));
    if (number == ADD_RULE) {
        (void)va_arg(list, int); /* a path, as ports are not known */
        return add_rule(rules, va_arg(list, const char *));
    }
    if (number != RESTRICT_SELF) {
        abort(); /* the product makes another call: it belongs here */
    }
    kernel_self()->rules = rules ? rules->inode : NULL;
    return rules ? 0 : -1;
}

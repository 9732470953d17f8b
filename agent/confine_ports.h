/* SPDX-License-Identifier: Apache-2.0 */
/* Which TCP ports a confined agent may use. */
#ifndef GPUFL_AGENT_CONFINE_PORTS_H
#define GPUFL_AGENT_CONFINE_PORTS_H

#include "agent/landlock.h"
#include "agent/options/options.h"

/** The port of `scheme://[user@]host[:port][/…]`; without one 443 for https, else
 * \p fallback. */
uint16_t confine_port_of(const char *url, uint16_t fallback);

/** Allows to connect to the backend, the proxy and the resolver, and to listen. */
void confine_allow_ports(struct landlock *rules, const struct options *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl-agent healthcheck`, for images that hold no other program. */
#ifndef GPUFL_AGENT_HEALTHCHECK_H
#define GPUFL_AGENT_HEALTHCHECK_H

/** Where an agent is asked when nobody says. */
#define HEALTHCHECK_ADDRESS "127.0.0.1:9464"

/** argv[0] is the verb. Asks the agent of this host, prints its answer.
 *  \return 0 healthy, 1 not, or no agent there; 2 wrong use. */
int healthcheck(int argc, char **argv);

#endif

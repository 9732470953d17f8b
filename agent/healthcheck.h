/* SPDX-License-Identifier: Apache-2.0 */
/* `gpufl-agent healthcheck`, for images that hold no other program. */
#ifndef GPUFL_AGENT_HEALTHCHECK_H
#define GPUFL_AGENT_HEALTHCHECK_H

#include <stdbool.h>
#include <stddef.h>

/** The address that is asked by default. */
#define HEALTHCHECK_ADDRESS "127.0.0.1:9464"

/** What the command line asks for. */
struct healthcheck_request {
    const char *listen;      /**< ADDRESS:PORT */
    const char *listen_name; /**< where that was given: `--listen`, GPUFL_AGENT_LISTEN */
    const char *path;
    bool help;
    bool version;
};

/** Reads the arguments behind the verb argv[0]. \return false with `WHERE: why` in
 * \p why. */
bool healthcheck_parse(int argc, char **argv, struct healthcheck_request *out,
                       char why[512]);

/** Reads an HTTP reply. \return its status, with the first line of its body in \p body;
 * 0 when it is no reply of the agent. */
int healthcheck_reply(const char *reply, char *body, size_t size);

/** argv[0] is the verb. Asks the agent of this host and prints its answer.
 *  \return 0 healthy; 1 not healthy, or no agent there; 2 invalid usage. */
int healthcheck(int argc, char **argv);

#endif

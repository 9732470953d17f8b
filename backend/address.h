/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric IP addresses to listen on. */
#ifndef GPUFL_BACKEND_ADDRESS_H
#define GPUFL_BACKEND_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** Reads an IPv4 or IPv6 address without brackets. */
bool address_parse(const char *text, uint16_t port, struct sockaddr_storage *out);

#endif

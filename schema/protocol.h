/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP protocol: header names, paths and limits that both ends share. */
#ifndef GPUFL_SCHEMA_PROTOCOL_H
#define GPUFL_SCHEMA_PROTOCOL_H

#include <stdint.h>

#define PROTOCOL_WIRE_VERSION     "1"
#define PROTOCOL_DEFAULT_API_PATH "/api/v1"

/* Paths below the API prefix. */
#define PROTOCOL_STREAM           "/events/stream"
#define PROTOCOL_PARTS            "/events/parts"
#define PROTOCOL_SESSION_COMPLETE "/events/session-complete"
#define PROTOCOL_ALIVE            "/events/alive"
#define PROTOCOL_VERSION          "/info/version"
#define PROTOCOL_SESSIONS         "/sessions/"
#define PROTOCOL_STREAMS          "/streams"

#define PROTOCOL_H_SESSION         "X-GpuFlight-Session-Id"
#define PROTOCOL_H_HOSTNAME        "X-GpuFlight-Hostname"
#define PROTOCOL_H_CLIENT          "X-GpuFlight-Client-Version"
#define PROTOCOL_H_WIRE            "X-GpuFlight-Wire-Version"
#define PROTOCOL_H_WINDOW_ID       "X-GpuFlight-Window-Id"
#define PROTOCOL_H_WINDOW_CHANNEL  "X-GpuFlight-Window-Channel"
#define PROTOCOL_H_WINDOW_SEQUENCE "X-GpuFlight-Window-Sequence"
#define PROTOCOL_H_WINDOW_CRC32    "X-GpuFlight-Window-CRC32"
#define PROTOCOL_H_IDEMPOTENCY     "Idempotency-Key"

#define PROTOCOL_IDENTITY_CONFLICT "window_identity_conflict"
#define PROTOCOL_SEQUENCE_CONFLICT "window_sequence_conflict"

/** Compressed bytes of one POST (the hosting platform caps at 32 MiB). */
#define PROTOCOL_MAX_BODY_BYTES 31457280u
/** Decoded bytes of one POST. */
#define PROTOCOL_MAX_DECODED_BYTES 134217728u
/** Lines of one batch. */
#define PROTOCOL_MAX_LINES 5000u
/** Raw bytes of one batch of more than one line. */
#define PROTOCOL_MAX_BATCH_BYTES (1u << 20)
/** Raw bytes that a batch may be configured to have. */
#define PROTOCOL_MAX_BATCH_BYTES_EVER (64u << 20)
/** Parts of one POST. */
#define PROTOCOL_MAX_PARTS 1024u
/** Bytes of the line that lists them, and of a claim. */
#define PROTOCOL_MAX_LIST_BYTES (1u << 20)
/** Highest offset and number of lines of a position. */
#define PROTOCOL_MAX_OFFSET (INT64_C(1) << 53)
/** Sessions of one POST that tells which are alive. */
#define PROTOCOL_MAX_ALIVE 256u
/** gpufl-backend wants to be told of a session of which nothing came for so long. */
#define PROTOCOL_ALIVE_AFTER_MS 60000
/** Longest single line that is sent; a longer one is quarantined. */
#define PROTOCOL_MAX_LINE_BYTES (8u << 20)

#endif

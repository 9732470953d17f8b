/* SPDX-License-Identifier: Apache-2.0 */
/* What a session does not contain, counted by kind: one list for the closing record, the
 * messages on stderr, the report and the counters of the rings. */
#ifndef GPUFL_SCHEMA_LOSSES_H
#define GPUFL_SCHEMA_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/channels.h"

/** X(kind, key of the record, what it is for people). */
#define LOSSES_OF_RINGS(X)                                                               \
    X(LOSS_SCOPES, "scopes", "scopes that did not fit in their thread's ring")           \
    X(LOSS_SCOPE_ENDS, "scope_ends",                                                     \
      "ends of scopes by another thread that did not fit in its ring")                   \
    X(LOSS_NOT_ENDED, "scopes_not_ended",                                                \
      "ends of scopes: they were still open when their thread or the session ended, or " \
      "when their thread had 4,096 open")                                                \
    X(LOSS_CALLS, "calls",                                                               \
      "launches, copies and sets without scope, stack and external id: their thread's "  \
      "ring was full")                                                                   \
    X(LOSS_WAITS, "waits", "synchronisations that did not fit in their thread's ring")   \
    X(LOSS_PHASES, "phases",                                                             \
      "begins and ends of phases that did not fit in their thread's ring")               \
    X(LOSS_NO_MEMORY, "without_memory",                                                  \
      "scopes, their ends, calls, waits and phases for which there was no memory")

#define LOSSES(X)                                                                        \
    LOSSES_OF_RINGS(X)                                                                   \
    X(LOSS_SCOPE_NAMES, "scope_names",                                                   \
      "scopes, and begins and ends of phases, whose name is \"(other)\": the table of "  \
      "names was full")                                                                  \
    X(LOSS_SCOPE_PATHS, "scope_paths",                                                   \
      "paths of scopes (user_scope of kernels) that are cut at 1,023 bytes, or "         \
      "\"(other)\": their table was full")                                               \
    X(LOSS_FORGOTTEN, "calls_forgotten",                                                 \
      "kernels, copies and sets without scope, stack and external id: they ended when "  \
      "262,144 calls had been made since")                                               \
    X(LOSS_KERNEL_NAMES, "kernel_names",                                                 \
      "kernels whose name is \"(other)\": the table of names was full")                  \
    X(LOSS_STACKS, "stacks",                                                             \
      "launches and synchronisations without their call stack: the table of stacks was " \
      "full")                                                                            \
    X(LOSS_SAMPLE_NAMES, "sample_names",                                                 \
      "PC samples whose function or source file has no name: the table of names was "    \
      "full")                                                                            \
    X(LOSS_SOURCES, "sources_cut",                                                       \
      "texts of source files that are cut: they have more than 1 MiB")                   \
    X(LOSS_RECORDS, "records",                                                           \
      "kernels, copies, sets, allocations and graphs: CUPTI had no buffer for them, or " \
      "they had not ended")                                                              \
    X(LOSS_LAUNCHES, "launches",                                                         \
      "launches without a record of their kernel: they were captured into a graph, had " \
      "not ended, another profiler took CUPTI's buffers, a fetch failed, or a buffer "   \
      "could not be read")                                                               \
    X(LOSS_FETCHES, "fetches",                                                           \
      "fetches of CUPTI's records that failed: how many kernels, copies, sets, "         \
      "allocations and graphs are missing is not known")                                 \
    X(LOSS_BUFFERS, "buffers_unread",                                                    \
      "buffers of CUPTI's records of which the rest could not be read: how many "        \
      "kernels, copies, sets, allocations and graphs are missing is not known")          \
    X(LOSS_DEVICE_SAMPLES, "device_samples",                                             \
      "samples of devices: the GPU driver did not answer in time")                       \
    X(LOSS_LINES, "lines",                                                               \
      "lines: they could not be written, their file was removed, replaced or cut, or "   \
      "recording was paused for want of room")                                           \
    X(LOSS_PHASES_NOT_ENDED, "phases_not_ended",                                         \
      "ends of phases: they were still open when the session ended")

#define LOSS_KIND_(kind, key, text) kind,
enum loss { LOSSES(LOSS_KIND_) LOSS_KINDS };
#undef LOSS_KIND_
#define LOSS_COUNT_(kind, key, text) +1
enum { LOSS_RING_KINDS = 0 LOSSES_OF_RINGS(LOSS_COUNT_) };
#undef LOSS_COUNT_

struct losses {
    uint64_t count[LOSS_KINDS];
    uint64_t lines[CHANNEL_COUNT]; /* LOSS_LINES of each channel */
};

/** The key of the kind in a record. */
const char *losses_key(enum loss kind);

/** What it is, for people: what follows the number. */
const char *losses_what(enum loss kind);

/** \return true for the name of a loss marker, and not of one that was being written when
 * its writer was killed. */
bool losses_is_marker(const char *name);

/** \return the lines that the marker \p text says are lost; 0 if it does not. */
uint64_t losses_of_marker(const char *text, size_t len);

/** Raises each count to the one that \p line tells, a capture_capabilities, if that is
 * more. */
void losses_raise(struct losses *losses, const char *line, size_t len);

#endif

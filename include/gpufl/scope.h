/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes: named regions of a thread. Part of gpufl.h, which says who may call what. */
#ifndef GPUFL_SCOPE_H
#define GPUFL_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include <gpufl/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A running scope, all zero if it is not recorded. Pass it to gpufl_scope_end unchanged.
 */
struct gpufl_scope {
    uint64_t instance;
    uint32_t name_id;
    uint16_t depth;
    uint16_t generation;
};

/** Begins a named region on this thread, within the one that was begun last of those that
 *  are open there: its depth and its path are that one's, and one more. Each distinct \p
 * name is copied once; after 65,536 names or 8 MiB of text, new names are recorded as
 * "(other)". Of a name of more than 64 KiB, the first 64 KiB and an ellipsis are
 * recorded, and the rest tells it from no other one. Takes well under 100 ns after the
 * first scope of a thread, and never blocks. If the writer cannot keep up, begin and end
 * are dropped together and counted
 * (`capture_capabilities` at the end of the session). */
GPUFL_API struct gpufl_scope gpufl_scope_begin(const char *name);

/** The same, and records that its body runs \p repeat times, after \p warmup runs before
 *  it; 0 = not said. */
GPUFL_API struct gpufl_scope gpufl_scope_begin_repeated(const char *name, uint32_t repeat,
                                                        uint32_t warmup);

/** Ends a region, by any thread and in any order; a call from another thread than the one
 *  that began it may wait for a lock, and finds nothing to do once that thread has ended.
 *  Regions that a thread leaves open end with it, and count as `scopes_not_ended`. A
 *  thread with 4,096 open regions ends its oldest one with each further begin. */
GPUFL_API void gpufl_scope_end(struct gpufl_scope scope);

/** Runs \p fn(\p arg) inside a scope. */
static inline void gpufl_monitor(const char *name, void (*fn)(void *arg), void *arg)
{
    struct gpufl_scope scope = gpufl_scope_begin(name);
    fn(arg);
    gpufl_scope_end(scope);
}

/** \cond internal */
#define GPUFL_JOIN2(a, b) a##b
#define GPUFL_JOIN(a, b)  GPUFL_JOIN2(a, b)
/** What a GFL_SCOPE declares has a name of its own, so that one within another on the
 * same line hides nothing. Later clangs warn of __COUNTER__: there, -Wshadow is off. */
#if defined(__clang__)
#define GPUFL_UNIQUE(prefix) GPUFL_JOIN(prefix, __LINE__)
#define GPUFL_QUIET                                                                      \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wshadow\"")    \
        _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")
#define GPUFL_LOUD _Pragma("clang diagnostic pop")
#else
#define GPUFL_UNIQUE(prefix) GPUFL_JOIN(prefix, __COUNTER__)
#define GPUFL_QUIET
#define GPUFL_LOUD
#endif
/** \endcond */

#if defined(__GNUC__) && !defined(__cplusplus)
/** \cond internal */
static inline void gpufl_scope_end_at(struct gpufl_scope *scope)
{
    gpufl_scope_end(*scope);
}
#define GPUFL_SCOPE_ENDS __attribute__((cleanup(gpufl_scope_end_at), unused))
/** For gcc, it leaves the switch around the loop, and for clang the loop: nothing leads
 * around the block, as the condition of a loop would, so that what is behind a `return`
 * stays so. */
#define GPUFL_SCOPE_LEAVE __extension__({ break; })
#define GPUFL_SCOPE_LOOP(scope, name)                                                    \
    for (struct gpufl_scope scope GPUFL_SCOPE_ENDS = gpufl_scope_begin(name);;           \
         GPUFL_SCOPE_LEAVE)
/** Of no value that a program has, so that compilers warn of a `case` in the block. */
enum gpufl_scope_only { GPUFL_SCOPE_ONLY = -2147483647 - 1 };
#define GPUFL_SCOPE_BLOCK                                                                \
    switch ((enum gpufl_scope_only)0)                                                    \
    case GPUFL_SCOPE_ONLY:                                                               \
    default:
#define GPUFL_SCOPE_AS(scope, name)                                                      \
    GPUFL_QUIET                                                                          \
    switch (0)                                                                           \
    default:                                                                             \
        GPUFL_SCOPE_LOOP(scope, name) GPUFL_SCOPE_BLOCK GPUFL_LOUD
/** \endcond */

/** `GFL_SCOPE("name") { … }` records the block. Leaving it by `return` or `goto` ends the
 * scope, too. It is one statement: an `else` behind the block belongs to the `if` in
 * front of the macro. It is a loop, since C has no other statement that declares
 * something for its body: `break` and `continue` leave only this block, not an enclosing
 * loop or switch (in C++, gpufl.hpp, they do what they do without the macro). Nor does a
 * `case` within belong to a switch around it: it is never reached, and compilers warn
 * (-Wswitch). Without optimisation, gcc warns of a function that ends in a block which
 * always returns (-Wreturn-type). */
#define GFL_SCOPE(name) GPUFL_SCOPE_AS(GPUFL_UNIQUE(gpufl_guard_), name)
#endif

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps two lists for each owner, and when the owner may go on. */
#include "upload/owners/visits.h"

#include <stddef.h>

static void visits_append(struct visits_list *list, struct visits_node *node)
{
    node->next = NULL;
    *(list->first ? list->last : &list->first) = node;
    list->last = &node->next;
}

static void visits_prepend(struct visits_list *list, struct visits_node *node)
{
    list->last = list->first ? list->last : &node->next;
    node->next = list->first;
    list->first = node;
}

static struct visits_node *visits_pop(struct visits_list *list)
{
    struct visits_node *node = list->first;
    list->first = node->next;
    return node;
}

static bool visits_is_over(const struct visits_owner *of, uint64_t now_ms)
{
    return !of->brief.first && !of->lengthy.first && of->ready_ms <= now_ms;
}

/* Those that have nothing and owe nothing make room. */
static void visits_tidy(struct visit_queue *visits, uint64_t now_ms)
{
    unsigned kept = 0;
    unsigned next = 0;
    for (unsigned i = 0; i < visits->count; i++) {
        if (i == visits->next) {
            next = kept;
        }
        if (!visits_is_over(&visits->of[i], now_ms)) {
            visits->of[kept++] = visits->of[i];
        }
    }
    visits->count = kept;
    visits->next = next < kept ? next : 0;
}

static struct visits_owner *visits_find(struct visit_queue *visits, uint32_t owner)
{
    for (unsigned i = 0; i < visits->count; i++) {
        if (visits->of[i].owner == owner) {
            return &visits->of[i];
        }
    }
    return NULL;
}

static struct visits_owner *visits_of(struct visit_queue *visits, uint32_t owner,
                                      uint64_t now_ms)
{
    struct visits_owner *of = visits_find(visits, owner);
    if (!of && visits->count == VISITS_MAX) {
        visits_tidy(visits, now_ms);
    }
    if (!of && visits->count == VISITS_MAX) {
        return &visits->of[owner % VISITS_MAX];
    }
    if (!of) {
        of = &visits->of[visits->count++];
        *of = (struct visits_owner){.owner = owner};
    }
    return of;
}

void visits_push(struct visit_queue *visits, uint32_t owner, struct visits_node *node,
                 uint64_t now_ms)
{
    struct visits_owner *of = visits_of(visits, owner, now_ms);
    if (node->begun) {
        visits_prepend(&of->lengthy, node);
    } else {
        visits_append(node->names > VISITS_STEP_NAMES ? &of->lengthy : &of->brief, node);
    }
}

static uint64_t visits_lengthy_ms(const struct visit_queue *visits,
                                  const struct visits_owner *of)
{
    const struct visits_node *first = of->lengthy.first;
    return first->begun || (visits->ends && !first->known) ? 0 : of->ready_ms;
}

static struct visits_node *visits_take_of(const struct visit_queue *visits,
                                          struct visits_owner *of, uint64_t now_ms)
{
    bool may = of->lengthy.first && visits_lengthy_ms(visits, of) <= now_ms;
    bool lengthy = may && (of->long_first || !of->brief.first);
    if (!lengthy && !of->brief.first) {
        return NULL;
    }
    of->long_first = !lengthy;
    return visits_pop(lengthy ? &of->lengthy : &of->brief);
}

struct visits_node *visits_take(struct visit_queue *visits, uint64_t now_ms)
{
    for (unsigned i = 0; i < visits->count; i++) {
        unsigned turn = (visits->next + i) % visits->count;
        struct visits_node *node = visits_take_of(visits, &visits->of[turn], now_ms);
        if (node) {
            visits->next = (turn + 1) % visits->count;
            return node;
        }
    }
    visits_tidy(visits, now_ms);
    return NULL;
}

void visits_charge(struct visit_queue *visits, uint32_t owner, unsigned names,
                   uint64_t now_ms)
{
    struct visits_owner *of = visits_of(visits, owner, now_ms);
    uint64_t from_ms = of->ready_ms > now_ms ? of->ready_ms : now_ms;
    of->ready_ms = from_ms + (uint64_t)names * 1000 / VISITS_NAMES_PER_S;
}

uint64_t visits_ready_ms(const struct visit_queue *visits)
{
    uint64_t ready_ms = UINT64_MAX;
    for (unsigned i = 0; i < visits->count; i++) {
        const struct visits_owner *of = &visits->of[i];
        uint64_t at_ms = of->brief.first     ? 0
                         : of->lengthy.first ? visits_lengthy_ms(visits, of)
                                             : UINT64_MAX;
        ready_ms = at_ms < ready_ms ? at_ms : ready_ms;
    }
    return ready_ms;
}

bool visits_is_new(const struct visits_node *node)
{
    return !node->known || node->names <= VISITS_STEP_NAMES;
}

bool visits_any_new(const struct visit_queue *visits)
{
    bool any = false;
    for (unsigned i = 0; i < visits->count && !any; i++) {
        any = visits->of[i].brief.first != NULL;
        const struct visits_node *node = visits->of[i].lengthy.first;
        for (; node && !any; node = node->next) {
            any = visits_is_new(node);
        }
    }
    return any;
}

static void visits_filter_list(struct visits_list *list,
                               bool (*keeps)(void *arg, struct visits_node *node),
                               void *arg)
{
    struct visits_node *node = list->first;
    list->first = NULL;
    for (struct visits_node *next; node; node = next) {
        next = node->next;
        if (keeps(arg, node)) {
            visits_append(list, node);
        }
    }
}

void visits_filter(struct visit_queue *visits,
                   bool (*keeps)(void *arg, struct visits_node *node), void *arg)
{
    for (unsigned i = 0; i < visits->count; i++) {
        visits_filter_list(&visits->of[i].brief, keeps, arg);
        visits_filter_list(&visits->of[i].lengthy, keeps, arg);
    }
}

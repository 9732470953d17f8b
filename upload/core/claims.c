/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps claims to session ids, and the disputed ones in the journal. */
#include "upload/core/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/core/kept_bytes.h"
#include "upload/core/session.h"
#include "upload/core/session_streams.h"

/* For so many listings without a rival, a disputed claim outlives its session. */
#define CLAIM_KEPT_LISTINGS 64u

_Static_assert(sizeof(struct claim) <= KEPT_CLAIM_BYTES, "as counted");

static const char *claims_id(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct claim *claims_find(const struct engine *engine, const char *id)
{
    return (struct claim *)path_table_find(&engine->claims, id); /* its first member */
}

static void claims_free(struct claim *claim)
{
    path_table_remove(&claim->root->engine->claims, &claim->node);
    free(claim->path);
    free(claim);
}

struct claim *claims_add(struct root *root, const char *path)
{
    struct claim *claim = claims_find(root->engine, claims_id(path));
    if (claim) {
        return claim;
    }
    claim = calloc(1, sizeof *claim);
    char *copy = strdup(path);
    if (claim && copy) {
        claim->root = root;
        claim->path = copy;
        claim->node.path = claims_id(copy);
        claim->listing = root->listing_number;
        if (path_table_add(&root->engine->claims, &claim->node)) {
            return claim;
        }
    }
    free(copy);
    free(claim);
    return NULL;
}

bool claims_move(struct claim *claim, struct root *root, const char *path)
{
    char *copy = strdup(path);
    if (copy) {
        free(claim->path);
        claim->path = copy;
        claim->node.path = claims_id(copy); /* the same text */
        claim->root = root;
    }
    return copy != NULL;
}

bool claims_journal(const struct claim *claim)
{
    struct record_claim record = {.owner = claim->owner, .has_owner = claim->has_owner};
    snprintf(record.path, sizeof record.path, "%s", claim->path);
    return record_append_claim(claim->root->journal, &record) != 0;
}

static void claims_append(void *arg, struct path_node *node)
{
    const struct claim *claim = (struct claim *)node;
    if (claim->root == arg && claim->disputed) {
        (void)claims_journal(claim); /* a journal that fails is rewritten again */
    }
}

void claims_write_state(struct root *root)
{
    path_table_each(&root->engine->claims, claims_append, root);
}

static bool claims_is_recent(const struct claim *claim)
{
    return claim->disputed &&
           claim->root->listing_number - claim->listing <= CLAIM_KEPT_LISTINGS;
}

bool claims_needs(const struct root *root, const char *path)
{
    const struct claim *claim = claims_find(root->engine, claims_id(path));
    return claim && claim->root == root && strcmp(claim->path, path) == 0 &&
           claims_is_recent(claim);
}

bool claims_knows(const struct root *root, const char *path)
{
    const struct session *session = session_find(root, path);
    return (session && session_is_one(session)) || parked_find(&root->parked, path);
}

static bool claims_has_begun(const struct root *root, const char *path)
{
    const struct session *s = session_find(root, path);
    const struct parked_session *parked = parked_find(&root->parked, path);
    return s ? session_begun(s) : parked && parked->complete;
}

/* The last record about an id is the one that is true. Of the journals of two roots, it
 * is the one that knows the session, which was moved there. */
void claims_restore(struct root *root, const struct record_claim *record)
{
    struct claim *claim = claims_add(root, record->path);
    bool same = claim && strcmp(claim->path, record->path) == 0;
    bool moves =
        claim && (claim->root != root ? claims_has_begun(root, record->path) &&
                                            !claims_has_begun(claim->root, claim->path)
                                      : !same);
    if (moves ? claims_move(claim, root, record->path) : same) {
        claim->disputed = true;
        claim->has_owner = record->has_owner;
        claim->owner = record->owner;
    }
}

struct root *claims_root_of(const struct root *root, const char *path)
{
    const struct engine *engine = root->engine;
    const char *id = claims_id(path);
    struct root *found = NULL;
    for (unsigned i = 0; i < engine->roots; i++) {
        struct root *other = engine->root[i];
        bool itself = other == root && id == path;
        if (!itself && claims_has_begun(other, id)) {
            return other;
        }
        if (!itself && !found && claims_knows(other, id)) {
            found = other;
        }
    }
    return found;
}

static void claims_sweep_one(void *arg, struct path_node *node)
{
    struct claim *claim = (struct claim *)node;
    const struct root *root = arg;
    if (claim->root == root && !claims_knows(root, claim->path) &&
        !claims_is_recent(claim)) {
        claims_free(claim);
    }
}

void claims_sweep(struct root *root)
{
    path_table_each(&root->engine->claims, claims_sweep_one, root);
}

static void claims_close_one(void *arg, struct path_node *node)
{
    struct claim *claim = (struct claim *)node;
    if (claim->root == arg) {
        claims_free(claim);
    }
}

void claims_close(struct root *root)
{
    path_table_each(&root->engine->claims, claims_close_one, root);
}

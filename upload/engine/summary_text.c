/* SPDX-License-Identifier: Apache-2.0 */
/* Puts figures of a summary into sentences. */
#include "upload/engine/summary_text.h"

#include <stdio.h>

#include "base/plural.h"

void summary_away_text(const struct engine_summary *s, const char *again,
                       char out[SUMMARY_AWAY_TEXT])
{
    char more[40] = "";
    unsigned others = s->sessions_away - 1;
    bool named = s->away_session[0] != '\0';
    if (named && others) {
        snprintf(more, sizeof more, " and %u more", others);
    }
    snprintf(out, SUMMARY_AWAY_TEXT,
             "%u %s not complete and no longer in the directory%s%s%s (%s when %s back; "
             "gpufl status names what is away, and how to give it up)",
             s->sessions_away, plural(s->sessions_away, "session is", "sessions are"),
             named ? ": " : "", s->away_session, more, again,
             plural(s->sessions_away, "it is", "they are"));
}

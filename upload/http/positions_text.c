/* SPDX-License-Identifier: Apache-2.0 */
/* Formats parts and claims as JSON. Names of sessions and channels need no escapes. */
#include "upload/http/positions_text.h"

#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* The longest place takes 98 bytes. */
#define PLACE_TEXT_BYTES 112u

static void positions_place(char out[PLACE_TEXT_BYTES], const struct stream_place *place)
{
    snprintf(out, PLACE_TEXT_BYTES,
             "{\"file\":%u,\"offset\":%llu,\"lines\":%llu,\"crc\":%u}", place->file,
             (unsigned long long)place->offset, (unsigned long long)place->lines,
             place->crc);
}

size_t positions_text_part(char out[POSITIONS_LINE_MAX], const struct part_said *part)
{
    char begin[PLACE_TEXT_BYTES];
    char end[PLACE_TEXT_BYTES];
    char start[PLACE_TEXT_BYTES] = "";
    positions_place(begin, &part->begin);
    positions_place(end, &part->end);
    if (part->start.given) {
        snprintf(start, sizeof start,
                 ",\"start\":{\"file\":%u,\"offset\":%llu,\"file_crc\":%u}",
                 part->start.file, (unsigned long long)part->start.offset,
                 part->start.file_crc);
    }
    int n = snprintf(out, POSITIONS_LINE_MAX,
                     "{\"parts\":[{\"session\":\"%s\",\"channel\":\"%s\",\"begin\":%s,"
                     "\"end\":%s%s%s%s%s}]}\n",
                     part->session, part->channel, begin, end, start,
                     part->skip ? ",\"skip\":true" : "",
                     part->reopens ? ",\"reopens\":true" : "",
                     part->added_newline ? ",\"added_newline\":true" : "");
    return n > 0 && (unsigned)n < POSITIONS_LINE_MAX ? (size_t)n : 0;
}

void positions_text_claim(struct text *text, bool first, const char *channel,
                          const struct stream_place *end, bool lost_after)
{
    text_printf(text,
                "%s{\"channel\":\"%s\",\"file\":%u,\"offset\":%llu,\"lines\":%llu,"
                "\"crc\":%u%s}",
                first ? "" : ",", channel, end->file, (unsigned long long)end->offset,
                (unsigned long long)end->lines, end->crc,
                lost_after ? ",\"lost_after\":true" : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes parts that are wrong, and looks at the verdicts. */
#include "tests/sim/mistaken_sender.h"

#include <stdio.h>
#include <string.h>

#include "backend/store/store_streams.h"
#include "base/crc32c.h"
#include "tests/sim/history.h"
#include "upload/http/positions_text.h"

#define LINE_BYTES 200

static void make_line(char out[LINE_BYTES + 1], const char *session, const char *channel)
{
    static const char end[] = "\"}\n";
    memset(out, 'x', LINE_BYTES);
    int begin = snprintf(out, LINE_BYTES,
                         "{\"type\":\"x\",\"session_id\":\"%s\",\"c\":\"%s\",\"of\":\"",
                         session, channel);
    out[begin] = 'x';
    memcpy(out + LINE_BYTES + 1 - sizeof end, end, sizeof end);
}

static void judge(const char *answer, const char *mistake)
{
    static const char *const right[] = {"\"verdict\":\"conflict\"",
                                        "\"verdict\":\"complete\"",
                                        "\"verdict\":\"expired\""};
    const char *verdict = strstr(answer, "\"verdict\"");
    verdict = verdict ? verdict : answer;
    int len = (int)strcspn(verdict, ",\n");
    bool is_right = false;
    for (unsigned i = 0; i < sizeof right / sizeof *right; i++) {
        is_right |= strncmp(verdict, right[i], strlen(right[i])) == 0;
    }
    history_say("a part with another %s: %.*s", mistake, len, verdict);
    if (!is_right) {
        history_fail("mistaken", "a part with another %s: %.*s", mistake, len, verdict);
    }
}

/* A part of one line that begins at \p begin: it is whole by itself. */
static void send_part(struct server *server, const char *session, const char *channel,
                      const struct stream_place *begin, const char *mistake)
{
    char line[LINE_BYTES + 1];
    char body[POSITIONS_LINE_MAX + LINE_BYTES];
    struct text answer = {0};
    make_line(line, session, channel);
    const struct part_said part = {.session = session,
                                   .channel = channel,
                                   .begin = *begin,
                                   .end = {.file = begin->file,
                                           .offset = begin->offset + LINE_BYTES,
                                           .lines = begin->lines + 1,
                                           .crc = crc32c(begin->crc, line, LINE_BYTES)}};
    size_t head = positions_text_part(body, &part);
    memcpy(body + head, line, LINE_BYTES);
    const struct server_request request = {
        .kind = TRANSPORT_PARTS, .body = body, .len = head + LINE_BYTES};
    (void)server_answer(server, &request, &answer);
    text_append(&answer, "", 1);
    judge(answer.data, mistake);
    text_fini(&answer);
}

void mistaken_sender(struct server *server, const char *session, const char *channel)
{
    struct stored_end end;
    if (store_streams_end(server->store, session, channel, &end) != GPUFL_OK ||
        end.at.offset < LINE_BYTES) {
        return;
    }
    struct stream_place begin = end.at;
    begin.crc ^= 1;
    send_part(server, session, channel, &begin, "checksum");
    begin = end.at;
    begin.lines--;
    send_part(server, session, channel, &begin, "number of lines");
    begin = end.at;
    begin.offset--;
    send_part(server, session, channel, &begin, "offset");
    begin = end.at;
    begin.file++;
    send_part(server, session, channel, &begin, "file");
    begin = end.at; /* it ends where the stream does */
    begin.offset -= LINE_BYTES;
    begin.lines--;
    send_part(server, session, channel, &begin, "line");
}

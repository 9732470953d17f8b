/* SPDX-License-Identifier: Apache-2.0 */
/* Embeds the files of the page by the assembler; paths are relative to the folder in
 * which make runs. dygraphs: Debian's libjs-dygraphs, MIT licence. */
#include "backend/http/page.h"

#include <string.h>

#ifndef PAGE_DYGRAPHS
#define PAGE_DYGRAPHS "/usr/share/javascript/dygraphs"
#endif

#define FILE_OF(symbol, path)                                                            \
    extern const char symbol[], symbol##_end[];                                          \
    __asm__(".section .rodata\n" #symbol ":\n.incbin \"" path "\"\n" #symbol             \
            "_end:\n.byte 0\n.previous\n")

FILE_OF(page_index, "backend/page/index.html");
FILE_OF(page_style, "backend/page/style.css");
FILE_OF(page_app, "backend/page/app.js");
FILE_OF(page_api, "backend/page/api.js");
FILE_OF(page_format, "backend/page/format.js");
FILE_OF(page_sessions, "backend/page/sessions.js");
FILE_OF(page_session, "backend/page/session.js");
FILE_OF(page_axis, "backend/page/axis.js");
FILE_OF(page_chart, "backend/page/chart.js");
FILE_OF(page_lane, "backend/page/lane.js");
FILE_OF(page_dygraph, PAGE_DYGRAPHS "/dygraph.min.js");
FILE_OF(page_dygraph_style, PAGE_DYGRAPHS "/dygraph.min.css");

#define HTML   "text/html; charset=utf-8"
#define CSS    "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"

static const struct page_file files[] = {
    {"", HTML, page_index, page_index_end},
    {"style.css", CSS, page_style, page_style_end},
    {"app.js", SCRIPT, page_app, page_app_end},
    {"api.js", SCRIPT, page_api, page_api_end},
    {"format.js", SCRIPT, page_format, page_format_end},
    {"sessions.js", SCRIPT, page_sessions, page_sessions_end},
    {"session.js", SCRIPT, page_session, page_session_end},
    {"axis.js", SCRIPT, page_axis, page_axis_end},
    {"chart.js", SCRIPT, page_chart, page_chart_end},
    {"lane.js", SCRIPT, page_lane, page_lane_end},
    {"dygraph.js", SCRIPT, page_dygraph, page_dygraph_end},
    {"dygraph.css", CSS, page_dygraph_style, page_dygraph_style_end},
};

const struct page_file *page_find(const char *url)
{
    static const char below[] = "/page/";
    const char *name = strcmp(url, "/") == 0 ? "" : NULL;
    if (strncmp(url, below, sizeof below - 1) == 0 && url[sizeof below - 1]) {
        name = url + sizeof below - 1;
    }
    for (size_t i = 0; name && i < sizeof files / sizeof *files; i++) {
        if (strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

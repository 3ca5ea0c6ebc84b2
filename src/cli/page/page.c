/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "format.h"

/* The colours of the page of `unstall ab` (src/analysis/report/style.py), and two more for stalls. */
static const char style[] =
    ":root { color-scheme: light dark; --ink: #000000; --paper: #ffffff; --shade: #f3f3f3;\n"
    "  --grid: #cccccc; --line: #1f4e9e; --stall: #b00020 }\n"
    "@media screen and (prefers-color-scheme: dark) { :root { --ink: #ececec; --paper: #15181b;\n"
    "  --shade: #23282d; --grid: #454b52; --line: #8ab4f8; --stall: #ff8a80 } }\n"
    "body { font: 16px/1.45 sans-serif; max-width: 62em; margin: 1.5em auto; padding: 0 1em;\n"
    "  color: var(--ink); background: var(--paper); overflow-wrap: anywhere }\n"
    "h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin: 1.8em 0 .4em }\n"
    ".verdict { border-left: .4em solid var(--ink); padding: .5em 1em; background: var(--shade);\n"
    "  font-size: 1.1em }\n"
    "footer { margin-top: 2em; border-top: 1px solid var(--grid); font-size: .85em }\n"
    "pre { font-family: monospace; background: var(--shade); padding: .6em; white-space: pre-wrap "
    "}\n"
    ".wide { overflow-x: auto } .side { display: flex; flex-wrap: wrap; gap: 1em }\n"
    "table { border-collapse: collapse; overflow-wrap: normal }\n"
    "th, td { padding: .2em .7em; text-align: right; border-bottom: 1px solid var(--grid);\n"
    "  white-space: nowrap }\n"
    "th:first-child, td:first-child { text-align: left }\n"
    "th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0;\n"
    "  padding: 0; cursor: pointer }\n"
    "figure { margin: 0 0 .8em; flex: 1 1 22em; max-width: 34em } figcaption { margin: .3em 0 }\n"
    "svg { display: block; width: 100%; height: auto; fill: var(--ink) }\n"
    "svg text { font: 13px sans-serif }\n"
    "@media (min-width: 50em) { .ladders figcaption { display: flex; align-items: end;\n"
    "  min-height: 2.9em } }\n" /* two lines, so that pictures beside each other begin together */
    /* a table may take the room beside the text */
    "@media (min-width: 66em) { .wide { width: fit-content; min-width: 100%;\n"
    "  max-width: calc(50vw + 29em) } }\n"
    "@media print { th button { cursor: auto } body { max-width: none } }\n";

/* Sorts a table by the column of the clicked heading; a second click reverses the order. */
static const char script[] =
    "document.addEventListener('click', event => {\n"
    "  const button = event.target.closest('th button');\n"
    "  if (!button) return;\n"
    "  const head = button.parentElement, body = head.closest('table').tBodies[0];\n"
    "  const down = head.getAttribute('aria-sort') !== 'descending';\n"
    "  for (const other of head.parentElement.children) other.removeAttribute('aria-sort');\n"
    "  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');\n"
    "  const key = row => {\n"
    "    const cell = row.cells[head.cellIndex];\n"
    "    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);\n"
    "  };\n"
    "  const rows = [...body.rows].sort((a, b) => {\n"
    "    const x = key(a), y = key(b), order = x < y ? -1 : x > y ? 1 : 0;\n"
    "    return down ? -order : order;\n"
    "  });\n"
    "  body.append(...rows);\n"
    "});\n";

/* The length of the UTF-8 character that begins here; 0 if the bytes are invalid, or HTML forbids it. */
static size_t character(const unsigned char *c) {
    size_t length = c[0] < 0x80       ? 1
                    : c[0] >> 5 == 6  ? 2
                    : c[0] >> 4 == 14 ? 3
                    : c[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 1)
        return (c[0] >= ' ' && c[0] != 0x7f) || c[0] == '\n';
    for (size_t i = 1; i < length; i++)
        if (c[i] >> 6 != 2)
            return 0;
    bool overlong = (length == 2 && c[0] < 0xc2) || (length == 3 && c[0] == 0xe0 && c[1] < 0xa0) ||
                    (length == 4 && c[0] == 0xf0 && c[1] < 0x90);
    bool surrogate = length == 3 && c[0] == 0xed && c[1] >= 0xa0;
    bool control = length == 2 && c[0] == 0xc2 && c[1] < 0xa0;
    bool no_character = length == 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe;
    bool beyond = c[0] > 0xf4 || (c[0] == 0xf4 && c[1] >= 0x90);
    return overlong || surrogate || control || no_character || beyond ? 0 : length;
}

void page_text(FILE *out, const char *text) {
    for (const char *c = text; *c;) {
        size_t length = character((const unsigned char *)c);
        const char *escaped = *c == '&'   ? "&amp;"
                              : *c == '<' ? "&lt;"
                              : *c == '>' ? "&gt;"
                              : *c == '"' ? "&quot;"
                              : length    ? NULL
                                          : "?";
        if (escaped)
            fputs(escaped, out);
        else
            fwrite(c, 1, length, out);
        c += length ? length : 1;
    }
}

static void element(FILE *out, const char *begin, const char *text, const char *end) {
    fputs(begin, out);
    page_text(out, text);
    fputs(end, out);
}

void page_begin(FILE *out, const char *title) {
    element(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>",
            title, "</title>\n");
    fprintf(out,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
            style);
    element(out, "<h1>", title, "</h1>\n");
}

/* Where, when and by what it was made: a page in a ticket must say so itself. */
static void page_origin(FILE *out) {
    char when[64] = "?", command[2048] = "unstall", text[4096];
    struct utsname host = {.nodename = "?"};
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%F %T %z", &local);
    uname(&host);
    FILE *in = fopen("/proc/self/cmdline", "re");
    size_t length = in ? fread(command, 1, sizeof(command) - 1, in) : 0;
    if (in)
        fclose(in);
    for (size_t i = 0; i + 1 < length; i++)
        if (!command[i])
            command[i] = ' ';
    snprintf(text, sizeof(text), "%s on %s, %s %s, by unstall " UNSTALL_VERSION ": %s", when, host.nodename,
             host.sysname, host.release, command);
    element(out, "<footer><p>", text, "</p></footer>\n");
}

void page_end(FILE *out) {
    page_origin(out);
    fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", script);
}

void page_heading(FILE *out, const char *text) {
    element(out, "<h2>", text, "</h2>\n");
}

void page_paragraph(FILE *out, const char *text) {
    element(out, "<p>", text, "</p>\n");
}

void page_verdict(FILE *out, const char *text) {
    element(out, "<p class=\"verdict\">", text, "</p>\n");
}

void page_bill(FILE *out, uint64_t stalls, uint64_t lost_ns, uint64_t looked_ns, const char *in) {
    const uint64_t day_ns = UINT64_C(86400) * 1000000000;
    char text[400], count[NAME_ROOM], lost[NAME_ROOM], looked[NAME_ROOM], day[NAME_ROOM];
    if (!lost_ns || !looked_ns)
        return;
    double share = (double)lost_ns / (double)looked_ns, a_day = share * (double)day_ns;
    if (a_day >= 0x1p63) /* only a damaged file says so much */
        return;
    snprintf(text, sizeof(text), "%s stall%s cost %s in %s%s. At this rate they cost %s a day%s.",
             count_text(stalls, count), stalls == 1 ? "" : "s", time_text(lost_ns, false, lost), in,
             time_text(looked_ns, false, looked),
             time_text((uint64_t)a_day, false, day),
             share > 1 ? ", added up over connections that stall at the same time" : "");
    page_paragraph(out, text);
}

void page_command(FILE *out, const char *text) {
    element(out, "<pre><code>", text, "</code></pre>\n");
}

void page_verbatim(FILE *out, const char *text) {
    element(out, "<pre>", text, "</pre>\n");
}

void page_table_begin(FILE *out, const char *name, const char *const *heads) {
    element(out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"", name,
            "\">\n<table>\n<thead><tr>");
    for (; *heads; heads++)
        element(out, "<th scope=\"col\"><button type=\"button\">", *heads, "</button></th>");
    fputs("</tr></thead>\n<tbody>\n", out);
}

void page_row_begin(FILE *out) {
    fputs("<tr>", out);
}

void page_cell(FILE *out, const char *text) {
    element(out, "<td>", text, "</td>");
}

void page_number(FILE *out, const char *text, double value) {
    fprintf(out, "<td data-value=\"%.9g\">", value);
    element(out, "", text, "</td>");
}

void page_row_end(FILE *out) {
    fputs("</tr>\n", out);
}

void page_table_end(FILE *out) {
    fputs("</tbody>\n</table>\n</div>\n", out);
}

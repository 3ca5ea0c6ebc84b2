/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target: names of perf maps, and answers of py-spy, jcmd and rbspy.  A user's file or program has
 * any bytes; the result is printable text within its room.
 *
 * Input: the first byte chooses the parser, the rest is the text.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "perf_map.h"
#include "who_tool.h"

enum { LONGEST = 16384 };

static void check_text(const char *text, size_t room) {
    size_t length = strnlen(text, room);
    assert(length < room);
    for (size_t i = 0; i < length; i++)
        assert((unsigned char)text[i] >= ' ' && text[i] != 127);
}

static void name(const char *text) {
    static struct frame frame;
    memset(&frame, 0, sizeof(frame));
    if (!perf_map_name(text, &frame))
        return;
    assert(frame.kind == FRAME_SCRIPT && frame.function[0]);
    check_text(frame.function, sizeof(frame.function));
    check_text(frame.source, sizeof(frame.source));
}

static void answer(const char *program, char *text) {
    static struct trace w;
    memset(&w, 0, sizeof(w));
    who_tool_parse(who_tool_for(program), text, 0, &w);
    assert(w.count <= WHO_FRAMES);
    for (unsigned i = 0; i < w.count; i++) {
        check_text(w.frame[i].function, sizeof(w.frame[i].function));
        check_text(w.frame[i].source, sizeof(w.frame[i].source));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char text[LONGEST + 1];
    if (size < 1 || size > LONGEST)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 4) {
    case 0: name(text); break;
    case 1: answer("python3", text); break;
    case 2: answer("java", text); break;
    default: answer("ruby", text); break;
    }
    return 0;
}

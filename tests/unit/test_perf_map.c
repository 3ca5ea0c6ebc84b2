/* SPDX-License-Identifier: MIT
 *
 * The names in the perf maps of Node, the JVM and CPython.
 */

#include "perf_map.h"
#include "unit.h"

static struct frame frame_of(const char *name) {
    struct frame f;
    memset(&f, 0, sizeof(f));
    cr_assert(perf_map_name(name, &f), "%s", name);
    EXPECT_INT("kind", f.kind, FRAME_SCRIPT);
    return f;
}

static void is(const char *name, const char *function, const char *source, int line, bool of_runtime) {
    struct frame f = frame_of(name);
    EXPECT_TEXT("function", f.function, function);
    EXPECT_TEXT("source", f.source, source);
    EXPECT_INT("line", f.line, line);
    EXPECT_INT("of the runtime", f.of_runtime, of_runtime);
}

Test(perf_map, names_of_node) {
    is("JS:~send /srv/app.js:2:20", "send", "app.js", 2, false);
    is("JS:^send file:///srv/app.mjs:12:1", "send", "app.mjs", 12, false);
    is("LazyCompile:*Server.answer /srv/my app.js:7:3", "Server.answer /srv/my", "app.js", 7, false);
    is("JS:* /srv/app.js:2:20", "an anonymous function", "app.js", 2, false);
    is("JS:^writeGeneric node:internal/stream_base_commons:147:22", "writeGeneric",
       "stream_base_commons", 147, true);
}

/* It names the line alone, which was taken for the column: Debian 12's reports had no lines. */
Test(perf_map, names_of_node_18) {
    is("LazyCompile:~send /srv/app.js:2", "send", "app.js", 2, false);
    is("LazyCompile:~writeGeneric node:internal/stream_base_commons:147", "writeGeneric",
       "stream_base_commons", 147, true);
    is("Function:~send /srv/app.js", "send", "app.js", 0, false);
}

/* Lib/test/test_perf_profiler.py of CPython 3.12 looks for "py::foo:" and the script's path. */
Test(perf_map, names_of_cpython) {
    is("py::send:/srv/app.py", "send", "app.py", 0, false);
    is("py::Server.answer:/srv/app.py", "Server.answer", "app.py", 0, false);
    is("py::<module>:/srv/app.py", "<module>", "app.py", 0, false);
    is("py::_find_and_load:<frozen importlib._bootstrap>", "_find_and_load",
       "<frozen importlib._bootstrap>", 0, true);
    is("py::sendall:/usr/lib/python3.12/ssl.py", "sendall", "ssl.py", 0, true);
}

Test(perf_map, names_of_the_jvm) {
    is("void App.send(byte[])", "App.send", "", 0, false);
    is("int java.net.Socket.write(byte[], int)", "java.net.Socket.write", "", 0, true);
}

Test(perf_map, names_of_a_runtimes_own_code_are_none) {
    static const char *const own[] = {
        "StubRoutines (1)", "Interpreter", "Builtin:ArgumentsAdaptorTrampoline", "JS:nothing", "py::",
        "py::noplace", "", "(", "Bytecode Handler:Call",
    };
    struct frame f;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        cr_expect(!perf_map_name(own[i], &f), "%s", own[i]);
}

Test(perf_map, a_name_of_any_length_stays_in_its_room) {
    char name[9000];
    struct frame f;
    for (size_t length = 1; length < sizeof(name); length += 37) {
        memset(name, 'x', sizeof(name));
        memcpy(name, "py::", 4);
        name[4 + length / 2] = ':';
        name[length + 5] = '\0';
        cr_assert(perf_map_name(name, &f));
        EXPECT(strlen(f.function) < sizeof(f.function) && strlen(f.source) < sizeof(f.source));
        if (length > sizeof(name) - 50)
            break;
    }
}

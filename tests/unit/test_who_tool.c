/* SPDX-License-Identifier: MIT
 *
 * The answers of py-spy, jcmd and rbspy.
 */

#include "unit.h"
#include "who_tool.h"

static struct trace parsed(const char *program, const char *answer, pid_t thread) {
    struct trace w = {.count = 7};
    char text[4096];
    snprintf(text, sizeof(text), "%s", answer);
    who_tool_parse(who_tool_for(program), text, thread, &w);
    return w;
}

static void is(const struct frame *f, const char *function, const char *source, int line,
               bool of_runtime) {
    EXPECT_TEXT("function", f->function, function);
    EXPECT_TEXT("source", f->source, source);
    EXPECT_INT("line", f->line, line);
    EXPECT_INT("of the runtime", f->of_runtime, of_runtime);
}

/* py-spy 0.4.0 dump --nonblocking --full-filenames */
static const char py_spy[] =
    "Process 4100: python3 /srv/server.py\n"
    "Python v3.11.2 (/usr/bin/python3.11)\n"
    "\n"
    "Thread 4127 (idle): \"MainThread\"\n"
    "    write (/usr/lib/python3.11/socketserver.py:834)\n"
    "    send_header (/srv/the app (new)/server.py:3)\n"
    "    call (/usr/lib/python3/dist-packages/tool/api.py:77)\n"
    "    <module> (/srv/server.py:40)\n"
    "Thread 4128 (active): \"worker\"\n"
    "    other (/srv/other.py:1)\n";

Test(who_tool, py_spy_names_the_frames_of_one_thread) {
    struct trace w = parsed("python3.11", py_spy, 4127);
    cr_assert(w.count == 4, "%u", w.count);
    is(&w.frame[0], "write", "socketserver.py", 834, true);
    is(&w.frame[2], "call", "api.py", 77, false);
    is(&w.frame[3], "<module>", "server.py", 40, false);
    w = parsed("pypy3", py_spy, 4128);
    cr_assert(w.count == 1);
    is(&w.frame[0], "other", "other.py", 1, false);
    EXPECT_INT("frames of another thread", parsed("python3", py_spy, 1).count, 0);
}

/* jcmd 4100 Thread.print of OpenJDK 17 */
static const char jcmd[] =
    "4100:\n2026-11-22 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM:\n\n"
    "\"main\" #1 prio=5 os_prio=0 cpu=9.1ms elapsed=3.2s tid=0x00007f1 nid=0x101f runnable  [0x1]\n"
    "   java.lang.Thread.State: RUNNABLE\n"
    "\tat java.net.Socket$SocketOutputStream.write(java.base@17.0.15/Socket.java:1035)\n"
    "\t- locked <0x00000000e1> (a java.lang.Object)\n"
    "\tat Talk.send(Talk.java:12)\n"
    "\tat Talk$$Lambda$7.run(Unknown Source)\n"
    "\n"
    "\"GC Thread#0\" os_prio=0 cpu=1ms elapsed=3.2s tid=0x2 nid=0x1020 runnable\n"
    "\tat Never.seen(Never.java:1)\n";

Test(who_tool, jcmd_names_the_frames_of_one_thread) {
    struct trace w = parsed("java", jcmd, 0x101f);
    cr_assert(w.count == 3, "%u", w.count);
    is(&w.frame[0], "java.net.Socket$SocketOutputStream.write", "Socket.java", 1035, true);
    is(&w.frame[1], "Talk.send", "Talk.java", 12, false);
    is(&w.frame[2], "Talk$$Lambda$7.run", "Unknown Source", 0, false);
}

/* rbspy 0.55.0 snapshot --nonblocking */
static const char rbspy[] =
    "<main> - /srv/server - new.rb:16\n"
    "block in call - /var/lib/gems/3.1.0/gems/puma-6.4.2/lib/ruby/server.rb:240\n"
    "syswrite_nonblock - /usr/lib/ruby/3.1.0/openssl/buffering.rb:322\n"
    "write [c function] - (unknown)\n";

Test(who_tool, rbspy_names_the_frames_from_the_outermost_inward) {
    struct trace w = parsed("ruby3.1", rbspy, 1);
    cr_assert(w.count == 4, "%u", w.count);
    is(&w.frame[0], "write [c function]", "", 0, true);
    is(&w.frame[1], "syswrite_nonblock", "buffering.rb", 322, true);
    is(&w.frame[2], "block in call", "server.rb", 240, false);
    is(&w.frame[3], "<main>", "server - new.rb", 16, false);
}

Test(who_tool, what_is_no_answer_has_no_frames) {
    static const char *const none[] = {"", "\n\n", "Thread", "    f (x.py:1)\n", "\tat A.b(A.java:1)\n",
                                       "Thread 1 (idle)\n    (\n    f(x.py:1\n", "\"\" nid=\n\tat (\n",
                                       "Something went wrong while rbspy was running - retry: ptrace\n",
                                       " - \n", "f - :\n", "f - /a.rb:1x\n"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        EXPECT_INT("py-spy", parsed("python3", none[i], 2).count, 0);
        EXPECT_INT("jcmd", parsed("java", none[i], 2).count, 0);
        EXPECT_INT("rbspy", parsed("ruby", none[i], 2).count, 0);
    }
}

/* py-spy begins with the innermost frame, rbspy with the outermost. */
Test(who_tool, more_frames_than_there_is_room_for_are_left_out) {
    char python[4096], ruby[4096];
    int p = snprintf(python, sizeof(python), "Thread 5 (idle)\n"), r = 0;
    for (int i = 0; i < 2 * WHO_FRAMES; i++) {
        p += snprintf(python + p, sizeof(python) - (size_t)p, "    f%d (a.py:%d)\n", i, i);
        r += snprintf(ruby + r, sizeof(ruby) - (size_t)r, "f%d - /srv/a.rb:%d\n", i, i);
    }
    struct trace inner = parsed("python3", python, 5), outer = parsed("ruby", ruby, 5);
    EXPECT(inner.count == WHO_FRAMES && outer.count == WHO_FRAMES);
    EXPECT_TEXT("last", inner.frame[WHO_FRAMES - 1].function, "f31");
    EXPECT_TEXT("innermost", outer.frame[0].function, "f63");
    EXPECT_TEXT("outermost", outer.frame[WHO_FRAMES - 1].function, "f32");
}

Test(who_tool, a_program_has_the_tool_of_its_runtime) {
    EXPECT_TEXT("tool", who_tool_for("python3.13")->name, "py-spy");
    EXPECT_TEXT("tool", who_tool_for("java")->name, "jcmd");
    EXPECT_TEXT("tool", who_tool_for("ruby3.1")->name, "rbspy");
    EXPECT(who_tool_for("node")->name == NULL);
    EXPECT(who_tool_for("nginx") == NULL && who_tool_for("") == NULL);
}

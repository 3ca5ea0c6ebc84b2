/* SPDX-License-Identifier: MIT
 *
 * Names of functions of C++, Rust and Nim as people write them; every other name stays as it is.
 */
#include "demangle.h"
#include "unit.h"

static const struct {
    const char *subject, *name, *text;
    bool nim, by_libiberty;
} names[] = {
    {"C++", "_ZN6Client11send_headerEiPKc", "Client::send_header", false, true},
    {"C++, no named space", "_ZN12_GLOBAL__N_14sendEv", "(anonymous namespace)::send", false, true},
    {"C++, a lambda", "_ZZN1A1fEiENKUliE_clEi", "A::f(int)::{lambda(int)#1}::operator()", false, true},
    {"Rust, v0",
     "_RNvXCs9lviOnV7Yo6_3twoNtNtNtCsjrHSEGnQ3l9_3std3net3tcp9TcpStreamNtB2_6Sender4bodyB2_",
     "<std::net::tcp::TcpStream as two::Sender>::body", false, true},
    {"Rust, v0 of std", "_RNvXs0_NtNtCsjrHSEGnQ3l9_3std3net3tcpNtB5_9TcpStreamNtNtB9_2io5Write5write",
     "<std::net::tcp::TcpStream as std::io::Write>::write", false, true},
    {"Rust, legacy", "_ZN33_$LT$T$u20$as$u20$two..Sender$GT$4body17h316d7ccf971499ceE",
     "<T as two::Sender>::body", false, true},
    {"Rust, legacy without a type", "_ZN3two6Header17h316d7ccf971499ceE", "two::Header", false, true},
    {"Nim's library", "requestAux__pureZhttpclient_3000", "httpclient.requestAux", false, false},
    {"Nim's library, two folders", "send__libZpureZnet_12", "net.send", false, false},
    {"a program in Nim", "header__app_2", "app.header", true, false},
    {"an operator in Nim", "pluseq___app_4", "app.pluseq_", true, false},
    {"the same name in C", "header__app_2", "header__app_2", false, false},
    {"no number", "header__app_x", "header__app_x", true, false},
    {"no module", "header___2", "header___2", true, false},
    {"no name", "__app_2", "__app_2", true, false},
    {"C", "send_header", "send_header", true, false},
    {"an underscore", "_", "_", true, false},
    {"nothing", "", "", true, false},
    {"damaged C++", "_ZN99x", "_ZN99x", false, false},
    {"damaged Rust", "_RNvXs0_", "_RNvXs0_", false, false},
    {"a control character", "a\033[31m", "a?[31m", false, false},
};

Test(demangle, each_name) {
    char text[160];
    EACH_ROW(row, names) {
#ifndef CLI_HAVE_LIBIBERTY
        if (row->by_libiberty)
            continue;
#endif
        demangle(row->name, row->nim, text, sizeof(text));
        cr_expect_str_eq(text, row->text, "%s: %s", row->subject, unit_plain(text));
    }
}

Test(demangle, a_name_that_is_too_long_is_cut) {
    char text[8];
    demangle("requestAux__pureZhttpclient_3000", false, text, sizeof(text));
    cr_expect_str_eq(text, "httpcli");
}

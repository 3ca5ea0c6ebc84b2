# SPDX-License-Identifier: MIT
# tclsh client.tcl PORT EXCHANGES BODY: posts over one kept connection, prints the answers.
package require http
lassign $argv port exchanges body
fconfigure stdout -translation binary
for {set number 0} {$number < $exchanges} {incr number} {
    set token [http::geturl http://127.0.0.1:$port/order -keepalive 1 -query $body -timeout 10000]
    if {[http::status $token] ne "ok"} {error [http::error $token]}
    puts -nonewline [http::data $token]
    http::cleanup $token
}

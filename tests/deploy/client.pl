# SPDX-License-Identifier: MIT
#
# client.pl ADDRESS PORT EXCHANGES: sends each message in two small writes and waits for the answer.
use strict;
use warnings;
use IO::Socket::INET;
my ($address, $port, $exchanges) = @ARGV;
my $peer = IO::Socket::INET->new(PeerAddr => $address, PeerPort => $port) or die "$@";
for (1 .. $exchanges) {
    syswrite $peer, "x" x 200;
    syswrite $peer, "y" x 100;
    sysread($peer, my $answer, 1000) or die "no answer";
}

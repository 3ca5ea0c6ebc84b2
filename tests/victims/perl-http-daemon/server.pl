# SPDX-License-Identifier: MIT
# perl server.pl PORT [nodelay]: HTTP::Daemon with one answer.
use strict;
use warnings;
use HTTP::Daemon;
use HTTP::Response;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

my $daemon = HTTP::Daemon->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], ReuseAddr => 1) or die $!;
while (my $client = $daemon->accept) {
    $client->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1) if @ARGV > 1;
    while (my $request = $client->get_request) {
        $client->send_response(
            HTTP::Response->new(200, 'OK', ['Content-Type' => 'text/plain'], "an order\n"));
    }
    $client->close;
}

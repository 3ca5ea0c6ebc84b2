# SPDX-License-Identifier: MIT
# Posts over one connection with Perl's own HTTP::Tiny and prints the answers.
# Arguments: port, exchanges, body.
use strict;
use warnings;
use HTTP::Tiny;

my ($port, $exchanges, $body) = @ARGV;
my $client = HTTP::Tiny->new(keep_alive => 1, timeout => 10);
for (1 .. $exchanges) {
    my $answer = $client->post("http://127.0.0.1:$port/order", { content => $body });
    die "$answer->{status} $answer->{content}\n" unless $answer->{success};
    print $answer->{content};
}

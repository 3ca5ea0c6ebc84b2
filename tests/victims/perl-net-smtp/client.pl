# SPDX-License-Identifier: MIT
# perl client.pl PORT MAILS [nodelay]: mails over one connection.
use strict;
use warnings;
use Net::SMTP;
use Socket qw(IPPROTO_TCP TCP_NODELAY);

my ($port, $mails) = @ARGV;
my $smtp = Net::SMTP->new('127.0.0.1', Port => $port, Hello => 'localhost', Timeout => 10)
    or die "no greeting";
$smtp->setsockopt(IPPROTO_TCP, TCP_NODELAY, 1) if @ARGV > 2;
for my $number (1 .. $mails) {
    $smtp->mail('a@localhost') && $smtp->to('b@localhost') && $smtp->data or die $smtp->message;
    $smtp->datasend("Subject: $number\n\n");
    $smtp->datasend("Dear b,\n", "this is mail $number.\n");
    $smtp->dataend or die $smtp->message;
}
$smtp->quit;

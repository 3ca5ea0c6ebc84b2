# SPDX-License-Identifier: MIT
# perl client.pl PORT MAILS: mails over one connection.
use strict;
use warnings;
use Net::SMTP;

my ($port, $mails) = @ARGV;
my $smtp = Net::SMTP->new('127.0.0.1', Port => $port, Hello => 'localhost', Timeout => 10)
    or die "no greeting";
for my $number (1 .. $mails) {
    $smtp->mail('a@localhost') && $smtp->to('b@localhost') && $smtp->data or die $smtp->message;
    $smtp->datasend("Subject: $number\n\n");
    $smtp->datasend("Dear b,\n", "this is mail $number.\n");
    $smtp->dataend or die $smtp->message;
}
$smtp->quit;

<?php
// SPDX-License-Identifier: MIT
// php client.php PORT MAILS: mails over one connection, line by line, as PHPMailer's SMTP class writes them.
[, $port, $mails] = $argv;
$server = stream_socket_client("tcp://127.0.0.1:$port", $errno, $error, 10) or exit(1);

function answer($server, $code) {
    $line = fgets($server);
    if (substr($line, 0, 3) != $code) {
        exit("unexpected: $line");
    }
}

answer($server, 220);
fwrite($server, "EHLO localhost\r\n");
answer($server, 250);
for ($number = 1; $number <= $mails; $number++) {
    foreach (["MAIL FROM:<a@localhost>" => 250, "RCPT TO:<b@localhost>" => 250, "DATA" => 354] as $command => $code) {
        fwrite($server, "$command\r\n");
        answer($server, $code);
    }
    foreach (["Subject: $number", "", "Dear b,", "this is mail $number.", "."] as $line) {
        fwrite($server, "$line\r\n");
    }
    answer($server, 250);
}
fwrite($server, "QUIT\r\n");
answer($server, 221);

<?php
// SPDX-License-Identifier: MIT
// php client.php PORT MAILS [nodelay]: mails over one connection by PHPMailer's SMTP class.
require '/usr/share/php/libphp-phpmailer/src/Exception.php';
require '/usr/share/php/libphp-phpmailer/src/SMTP.php';

[, $port, $mails] = $argv;
$smtp = new PHPMailer\PHPMailer\SMTP();
$options = isset($argv[3]) ? ['socket' => ['tcp_nodelay' => true]] : [];
$good = $smtp->connect('127.0.0.1', (int) $port, 10, $options) && $smtp->hello('localhost');
for ($number = 1; $good && $number <= $mails; $number++) {
    $good = $smtp->mail('a@localhost') && $smtp->recipient('b@localhost')
        && $smtp->data("Subject: $number\r\n\r\nDear b,\r\nthis is mail $number.\r\n");
}
$smtp->quit();
exit($good ? 0 : 1);

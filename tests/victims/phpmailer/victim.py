# SPDX-License-Identifier: MIT
"""PHPMailer's SMTP::data sends a mail line by line (client_send), and PHP's streams do not buffer."""

from runner import Affected, SmtpPeer, Victim, talks


def got(peer, _):
    return len(peer.mails) == 15 and all(
        b"Subject: %d\r\n\r\nDear b,\r\nthis is mail %d." % (number, number) in mail
        for number, mail in enumerate(peer.mails, 1))


VICTIM = Victim(
    sick="client",
    needs=("php",),
    packages=("libphp-phpmailer",),
    measure=talks("php", "phpmailer/client.php", peer=SmtpPeer, got=got),
    verdict="it sends each message in many small writes and Nagle holds all but the first",
    segments={"nodelay": 9, "cork": 4, "coalesce": 4, "auto": 4},
    affected=Affected(
        software="PHPMailer",
        package="libphp-phpmailer",
        own="`$mail->SMTPOptions = ['socket' => ['tcp_nodelay' => true]]`",
        source="None is needed.",
        measured=True,
        observe="php client.php",
        words=("PHPMailer",),
    ),
)

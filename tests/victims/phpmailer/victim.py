# SPDX-License-Identifier: MIT
"""PHPMailer: each line of a mail is an fwrite, and PHP's streams write at once."""

from pathlib import Path

from runner import Affected, SmtpPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = SmtpPeer()
    result = run_mailer(treatment, scratch,
                        lambda port: ["php", HERE / "client.php", port, EXCHANGES, *treatment.words],
                        peer, EXCHANGES)
    assert len(peer.mails) == EXCHANGES
    assert all(b"Subject: %d\r\n\r\nDear b,\r\nthis is mail %d." % (number, number) in mail
               for number, mail in enumerate(peer.mails, 1)), peer.mails
    return result


VICTIM = Victim(
    story="PHPMailer's SMTP::data sends a mail line by line (client_send), and PHP's streams do not buffer",
    sick="client",
    needs=("php",),
    packages=("libphp-phpmailer",),
    measure=measure,
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

# SPDX-License-Identifier: MIT
"""PHP's streams write at once: a mail sent line by line."""

from pathlib import Path

from runner import SmtpPeer, Victim, run_mailer

HERE = Path(__file__).parent
EXCHANGES = 15


def measure(treatment, scratch):
    peer = SmtpPeer()
    result = run_mailer(treatment, scratch,
                        lambda port: ["php", "-n", HERE / "client.php", port, EXCHANGES], peer, EXCHANGES)
    assert peer.mails == [b"Subject: %d\r\n\r\nDear b,\r\nthis is mail %d." % (number, number)
                          for number in range(1, EXCHANGES + 1)], peer.mails
    return result


VICTIM = Victim(
    story="PHP mailers fwrite a mail line by line (PHPMailer's SMTP::data), and PHP's streams do not gather",
    sick="client",
    needs=("php",),
    measure=measure,
)

/* SPDX-License-Identifier: MIT
 *
 * Exchanges on a connection received over the Unix socket that is descriptor 0.
 */
#include "client.h"

int main(int argc, char **argv) {
    CHECK(argc == 2);
    run_exchanges(receive_descriptor(0, MSG_CMSG_CLOEXEC), atoi(argv[1]), two_writes);
    return report();
}

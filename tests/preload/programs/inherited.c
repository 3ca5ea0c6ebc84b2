/* SPDX-License-Identifier: MIT
 *
 * Exchanges on a connection inherited as descriptor number argv[1].
 */
#include "client.h"

int main(int argc, char **argv) {
    CHECK(argc == 3);
    run_exchanges(atoi(argv[1]), atoi(argv[2]), two_writes);
    return report();
}

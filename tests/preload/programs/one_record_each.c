/* SPDX-License-Identifier: MIT
 *
 * Four threads write records to one connection at once: each record must stay whole.
 */
#include "client.h"

enum { WRITERS = 4, RECORDS = 500, RECORD = 64 };

static int connection;

static void *write_records(void *letter)
{
    char record[RECORD];
    for (int i = 0; i < RECORDS; i++) {
        memset(record, *(char *)letter, sizeof record);
        snprintf(record, sizeof record, "%c%05d", *(char *)letter, i);
        record[6] = *(char *)letter;
        record[RECORD - 1] = '\n';
        CHECK(write(connection, record, sizeof record) == RECORD);
        if (i % 50 == 0) usleep(300);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char letters[] = "ABCD";
    pthread_t threads[WRITERS];
    connection = connect_to(client_arguments(argc, argv));
    for (int i = 0; i < WRITERS; i++)
        CHECK(pthread_create(&threads[i], NULL, write_records, &letters[i]) == 0);
    for (int i = 0; i < WRITERS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    close(connection);
    return report();
}

/* SPDX-License-Identifier: MIT
 *
 * Reads freed memory that two threads have written without a lock: a sanitizer must say so.
 */
#include "client.h"

static volatile int shared;

static void *add(void *unused) {
    for (int i = 0; i < 1000; i++) shared++;
    return unused;
}

int main(void) {
    pthread_t one, two;
    CHECK(pthread_create(&one, NULL, add, NULL) == 0 && pthread_create(&two, NULL, add, NULL) == 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    char *volatile gone = malloc(16);
    gone[3] = (char)shared;
    free(gone);
    return gone[3] == 1;
}

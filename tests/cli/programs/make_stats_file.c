/* SPDX-License-Identifier: MIT
 *
 * make_stats_file FILE: writes the statistics file that the lines on stdin describe (table.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

int main(int argc, char **argv) {
    char line[2048];
    struct stats_file *s = malloc(sizeof(*s));
    if (argc != 2 || !s)
        return 2;
    table_begin(s);
    while (fgets(line, sizeof(line), stdin))
        if (!table_line(s, line)) {
            fprintf(stderr, "make_stats_file: %s", line);
            return 1;
        }
    FILE *file = fopen(argv[1], "wbe");
    if (!file || fwrite(s, sizeof(*s), 1, file) != 1 || fclose(file) != 0) {
        perror(argv[1]);
        return 1;
    }
    free(s);
    return 0;
}

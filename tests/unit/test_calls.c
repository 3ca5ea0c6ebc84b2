/* SPDX-License-Identifier: MIT
 *
 * The fuzzing target `calls` as a unit test: sequences of calls through the whole core against
 * its model (tests/fuzz/fuzz_calls.c), from the kept seeds and from one fixed number.  In a second it shows
 * that the bytes stay whole; scripts/fuzz shows the same for longer.
 */
#include <dirent.h>

#include "chance.h"
#include "unit.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS = 30000, LONGEST = 400, KEPT_MOST = 64, CHANGES = 8 };

static struct input {
    uint8_t bytes[LONGEST];
    size_t size;
} kept[KEPT_MOST];
static size_t kept_count;

static void load(void) {
    struct dirent **entries;
    int count = scandir(UNIT_CALLS_CORPUS, &entries, NULL, alphasort);
    for (int i = 0; i < count && kept_count < KEPT_MOST; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", UNIT_CALLS_CORPUS, entries[i]->d_name);
        FILE *file = entries[i]->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!file)
            continue;
        struct input *in = &kept[kept_count++];
        in->size = fread(in->bytes, 1, sizeof(in->bytes), file);
        fclose(file);
    }
    LLVMFuzzerInitialize(NULL, NULL);
}

TestSuite(calls, .init = load, .timeout = 60);

Test(calls, kept) {
    cr_assert(kept_count >= 20, "%zu seeds in %s", kept_count, UNIT_CALLS_CORPUS);
    for (size_t i = 0; i < kept_count; i++)
        LLVMFuzzerTestOneInput(kept[i].bytes, kept[i].size);
}

/* One of the kept ones with a few bytes changed, and the end of another behind it. */
static void vary(struct input *in) {
    const struct input *other = &kept[draw((uint32_t)kept_count)];
    *in = kept[draw((uint32_t)kept_count)];
    size_t room = LONGEST - in->size, more = draw((uint32_t)other->size + 1);
    memcpy(in->bytes + in->size, other->bytes + other->size - more, more < room ? more : room);
    in->size += more < room ? more : room;
    for (uint32_t i = draw(CHANGES); i > 0; i--)
        in->bytes[draw((uint32_t)in->size)] = (uint8_t)draw(256);
}

Test(calls, varied) {
    static struct input in;
    for (int i = 0; i < RUNS; i++) {
        vary(&in);
        LLVMFuzzerTestOneInput(in.bytes, in.size);
    }
}

Test(calls, invented) {
    static struct input in;
    for (int i = 0; i < RUNS; i++) {
        in.size = 20 + draw(LONGEST - 20);
        for (size_t n = 0; n < in.size; n++)
            in.bytes[n] = (uint8_t)draw(256);
        LLVMFuzzerTestOneInput(in.bytes, in.size);
    }
}

/* SPDX-License-Identifier: MIT
 *
 * The kind of a file, by its first bytes; and how far it is read.
 */
#include "explain.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock_ns.h"

/* ---- "FILE: 45 %" on the terminal of stderr, after the first second ----------- */

enum { STEPS_A_LOOK = 16384 };

static struct {
    FILE *in;
    const char *name;
    off_t size; /* 0: a pipe */
    time_t shown_at;
    bool wanted, shown;
} progress;

static void progress_begin(FILE *in, const char *name) {
    struct stat about;
    memset(&progress, 0, sizeof(progress));
    progress.in = in;
    progress.name = name;
    progress.wanted = isatty(STDERR_FILENO);
    progress.shown_at = (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000);
    if (progress.wanted && fileno(in) >= 0 && fstat(fileno(in), &about) == 0 &&
        S_ISREG(about.st_mode))
        progress.size = about.st_size;
}

void progress_step(uint64_t entries) {
    if (!progress.wanted || entries % STEPS_A_LOOK != 0 ||
        (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000) <= progress.shown_at)
        return;
    progress.shown_at = (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000);
    progress.shown = true;
    if (progress.size > 0)
        fprintf(stderr, "\r%s: %d %%\033[K", progress.name,
                (int)(100 * (double)ftello(progress.in) / (double)progress.size));
    else
        fprintf(stderr, "\r%s: %lu read\033[K", progress.name, (unsigned long)entries);
}

static void progress_end(void) {
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}

/* ---- the kind ------------------------------------------------------------------ */

enum kind { KIND_CAPTURE, KIND_FOREIGN, KIND_PACKED, KIND_TEXT, KIND_EMPTY, KIND_UNREADABLE };

static enum kind kind_of_magic(const unsigned char m[4]) {
    static const struct {
        unsigned char bytes[4];
        int length;
        enum kind kind;
    } known[] = {
        {{0xa1, 0xb2, 0xc3, 0xd4}, 4, KIND_CAPTURE},
        {{0xd4, 0xc3, 0xb2, 0xa1}, 4, KIND_CAPTURE},
        {{0xa1, 0xb2, 0x3c, 0x4d}, 4, KIND_CAPTURE},
        {{0x4d, 0x3c, 0xb2, 0xa1}, 4, KIND_CAPTURE},
        {{0xa1, 0xb2, 0xcd, 0x34}, 4, KIND_CAPTURE},
        {{0x34, 0xcd, 0xb2, 0xa1}, 4, KIND_CAPTURE},
        {{0x0a, 0x0d, 0x0d, 0x0a}, 4, KIND_CAPTURE}, /* pcapng */
        {{'s', 'n', 'o', 'o'}, 4, KIND_FOREIGN},     /* snoop of Solaris */
        {{'G', 'M', 'B', 'U'}, 4, KIND_FOREIGN},     /* Microsoft's Network Monitor */
        {{0x1f, 0x8b}, 2, KIND_PACKED},              /* gzip */
        {{0x28, 0xb5, 0x2f, 0xfd}, 4, KIND_PACKED},  /* zstd */
        {{0xfd, '7', 'z', 'X'}, 4, KIND_PACKED},     /* xz */
        {{'B', 'Z', 'h'}, 3, KIND_PACKED},           /* bzip2 */
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (memcmp(m, known[i].bytes, (size_t)known[i].length) == 0)
            return known[i].kind;
    return KIND_TEXT;
}

/* Reads the first bytes and puts them back: stdin may be a pipe. */
static enum kind kind_of(FILE *in) {
    unsigned char magic[4] = {0};
    size_t n = fread(magic, 1, sizeof(magic), in);
    if (n == 0)
        return ferror(in) ? KIND_UNREADABLE : KIND_EMPTY;
    enum kind kind = kind_of_magic(magic);
    while (n > 0)
        ungetc(magic[--n], in); /* four in a row: glibc and musl both have room for them */
    return kind;
}

static int refuse(FILE *in, struct findings *f, const char *reason) {
    snprintf(f->stopped, NOTE_TEXT, "%s", reason);
    fclose(in);
    return -EINVAL;
}

int explain_open(FILE *in, const char *name, struct findings *f) {
    int result;
    errno = 0;
    progress_begin(in, name);
    switch (kind_of(in)) {
    case KIND_CAPTURE:
        f->source = SOURCE_CAPTURE;
        result = explain_capture(in, f);
        break;
    case KIND_TEXT:
        f->source = SOURCE_STRACE;
        result = explain_strace(in, f);
        break;
    case KIND_FOREIGN:
        return refuse(in, f, "is a capture of another kind; convert it: editcap -F pcap FILE NEW");
    case KIND_PACKED:
        return refuse(in, f,
                      "is compressed; unpack it on the way: zcat, zstdcat, xzcat or bzcat FILE | "
                      "unstall explain -");
    case KIND_EMPTY:
        return refuse(in, f, "is empty; expected a capture (pcap, pcapng) or a log of strace");
    default: return refuse(in, f, strerror(errno));
    }
    progress_end();
    return result;
}

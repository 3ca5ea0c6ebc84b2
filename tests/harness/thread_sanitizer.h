/* SPDX-License-Identifier: MIT
 *
 * What a build of the library for ThreadSanitizer tells it (src/preload/meson.build, sys/raw.h): it sees no
 * raw calls.
 */
#ifndef UNSTALL_THREAD_SANITIZER_H
#define UNSTALL_THREAD_SANITIZER_H

#ifndef __ASSEMBLER__

#include <sanitizer/tsan_interface.h>

/* One thread's munmap comes before another thread's mmap, which may return the same pages. */
__attribute__((weak, visibility("hidden"))) char raw_mappings;
#define RAW_GIVEN() __tsan_acquire(&raw_mappings)
#define RAW_GIVES() __tsan_release(&raw_mappings)

/* In a forked child it reports races with threads of the parent that had ended and were not joined yet.  (If
 * others were still running, it ignores the child.)  To print the first report it closes a file, by our
 * close; the next race that it finds there waits for the lock of the report.  Between these two it ignores
 * all. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define RAW_CHILD_BEGINS() \
    (AnnotateIgnoreReadsBegin(__FILE__, __LINE__), AnnotateIgnoreWritesBegin(__FILE__, __LINE__))
#define RAW_CHILD_ENDS() \
    (AnnotateIgnoreReadsEnd(__FILE__, __LINE__), AnnotateIgnoreWritesEnd(__FILE__, __LINE__))

#endif
#endif

/* SPDX-License-Identifier: MIT
 *
 * -Dportable=true: the library built here runs under glibc from 2.17 on.  The compiler reads this file
 * before each source.
 *
 * glibc 2.34 moved libdl and libpthread into libc and gave these names a second version, with the same
 * behaviour.  The linker would choose the newer one, which an older libc lacks.  The older one is found in
 * the libraries that meson.build links: real ones before 2.34, empty ones since.
 */
#ifndef UNSTALL_PORTABLE_H
#define UNSTALL_PORTABLE_H

#ifndef __ASSEMBLER__ /* jump.S names none of them */

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#define OLDEST_DLOPEN OLDEST
#elif defined(__i386__)
#define OLDEST "GLIBC_2.0"
#define OLDEST_DLOPEN "GLIBC_2.1"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#define OLDEST_DLOPEN OLDEST
#else
#error "-Dportable=true: the oldest versions of libc's names are known for x86-64, i386 and aarch64 only"
#endif

__asm__(".symver dladdr, dladdr@" OLDEST);
__asm__(".symver dlopen, dlopen@" OLDEST_DLOPEN);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver dlvsym, dlvsym@" OLDEST_DLOPEN);
__asm__(".symver pthread_key_create, pthread_key_create@" OLDEST);
__asm__(".symver pthread_key_delete, pthread_key_delete@" OLDEST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" OLDEST);
__asm__(".symver pthread_testcancel, pthread_testcancel@" OLDEST);

#undef OLDEST
#undef OLDEST_DLOPEN

#endif
#endif

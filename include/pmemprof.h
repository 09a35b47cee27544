/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmemprof.h - what a program can tell the heap profiler pmem while it is being profiled.
 *
 * Nothing needs to be linked, and the program runs without pmem as before: the function is a weak symbol, whose address is
 * NULL unless libpmem.so was loaded into the process (by `pmem run` or LD_PRELOAD).  So ask first:
 *
 *     #include <pmemprof.h>
 *
 *     if (pmemprof_mark)
 *             pmemprof_mark("loaded");
 *
 * A program that is compiled without -fPIE or -fPIC, by another compiler than gcc, needs -fno-plt: its address is
 * fixed to NULL when it is linked, otherwise.  In a static program it is always NULL.
 */
#ifndef PMEMPROF_H
#define PMEMPROF_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__has_attribute)
#if __has_attribute(noplt)
#define PMEMPROF_OPTIONAL __attribute__((weak, noplt))
#endif
#endif
#ifndef PMEMPROF_OPTIONAL
#define PMEMPROF_OPTIONAL __attribute__((weak))
#endif

/*
 * Puts a mark on the timeline, now: `pmem report --json` lists it, by time.
 *
 * text is UTF-8 and ends in NUL; it is copied, and cut after 55 bytes (never inside a character).  NULL is
 * ignored.  May be called from any thread and from signal handlers, changes neither errno nor anything else that the program
 * sees, and takes less than a microsecond.  Where nothing is recorded it does nothing.  A process keeps its first
 * 16,384 marks; how many more there were is counted.
 */
PMEMPROF_OPTIONAL void pmemprof_mark(const char *text);

#ifdef __cplusplus
}
#endif

#endif

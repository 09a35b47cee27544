#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""scaling - what the recorder's shared cache lines would cost on machines with more CPUs: a model, see doc/SCALING.md.

Threads alternate between work of their own and the few places that all of them write to.  Each such place is a queue with one
server, as a cache line is with one CPU at a time; mean value analysis of that closed network gives the time of one malloc + free.
Rates of the shared writes are measured (doc/SCALING.md tells how) or follow from the window's width in peak.h."""
import argparse

THREADS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
# peak.c
TOLERANCE_MIN, TOLERANCE_SHIFT, EPOCHS = 8192, 10, 4
# Lines that a settling moves: the lock, two of the state behind it.
PEAK_LINES = 3
PATTERNS = {"steady": "each thread frees its own blocks, the heap keeps its size",
            "handover": "each block is freed by another thread than allocated it",
            "growth": "each thread allocates, nothing is freed"}


def arguments():
    parser = argparse.ArgumentParser(prog="bench/scaling.py", description=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--transfer", type=float, default=100, metavar="NS", help="for a cache line from one CPU to another, default 100")
    add("--event", type=float, default=28, metavar="NS", help="one malloc + free, recorded, of a single thread, default 28")
    add("--work", type=float, default=0, metavar="NS", help="what the program does in between, default 0: nothing else")
    add("--size", type=float, default=64, metavar="BYTES", help="of a block, default 64")
    add("--peak", type=float, default=1 << 30, metavar="BYTES", help="of live bytes so far, default 1 GiB")
    add("--tells", type=float, default=0.008, metavar="RATE", help="churn_tell() for each malloc + free, default 0.008")
    add("--settles", type=float, default=0.0003, metavar="RATE", help="peak_settle() in the steady pattern, default 0.0003")
    add("--cells", type=float, default=0, metavar="SHARE", help="of blocks with a neighbour in their 512 bytes that another"
        " thread allocates or frees, default 0: arenas")
    return parser.parse_args()


def window(options, threads):
    """How far a thread's balance may move before it settles (peak.h)."""
    tolerance = max(TOLERANCE_MIN, options.peak / 2**TOLERANCE_SHIFT)
    return tolerance / (2 * threads)


def stations(options, pattern, threads):
    """(seconds of service for one malloc + free at each shared place, other transfers in it), in nanoseconds."""
    others = (threads - 1) / threads  # the line is elsewhere, if all come as often
    transfer = options.transfer * others
    settles = options.settles
    waits = 2 * options.cells * transfer
    if pattern != "steady":
        settles = min(1, options.size / window(options, threads))
    if pattern == "growth":
        # A new epoch is read once by every thread, and all threads' growth makes epochs.
        tolerance = 2 * threads * window(options, threads)
        waits += min(1, threads * options.size * EPOCHS / tolerance) * transfer
    if pattern == "handover":
        # Cells of the live table come to the other thread, sixteen in a line, as blocks do that were allocated in turn.
        waits += min(1, (options.size + 16) / 512) * transfer
    return [options.tells * transfer, settles * PEAK_LINES * transfer], waits


def pair_ns(options, pattern, threads):
    """Time of one malloc + free of each of so many threads: exact mean value analysis."""
    demands, waits = stations(options, pattern, threads)
    think = options.event + options.work + waits
    queues = [0.0] * len(demands)
    total = think
    for count in range(1, threads + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, queues)]
        total = think + sum(times)
        queues = [count / total * time for time in times]
    return total


def bound(options, pattern, threads):
    """Pairs for each microsecond that all threads together can never pass."""
    busiest = max(stations(options, pattern, threads)[0])
    return 1000 / busiest if busiest else float("inf")


def main():
    options = arguments()
    print("Added nanoseconds for each malloc + free by sharing; a line takes %g ns, an unshared pair %g, work between them %g."
          % (options.transfer, options.event, options.work))
    for pattern, title in PATTERNS.items():
        print("\n%s: %s\n%8s %10s %12s %22s" % (pattern, title, "threads", "added ns", "ratio", "pairs/us, all; limit"))
        alone = options.event + options.work
        for threads in THREADS:
            time = pair_ns(options, pattern, threads)
            limit = bound(options, pattern, threads)
            print("%8d %10.1f %12.2f %13.0f %8s" % (threads, time - alone, time / alone, 1000 * threads / time,
                                                   "-" if limit == float("inf") else "%.0f" % limit))


if __name__ == "__main__":
    main()

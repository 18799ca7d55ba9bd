/* The clock that this thread's core runs at, for peakflops. */
#ifndef ADVISOR_PEAKFLOPS_CLOCK_H
#define ADVISOR_PEAKFLOPS_CLOCK_H

#include "../common/kernel.h"

#include <linux/perf_event.h>
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ADDITIONS = 64, TURNS = 2048 };

/* The seconds that a reading of the time takes, and the least that two readings differ by. */
static double clock_tick(void) {
    double least = INFINITY;
    for (int i = 0; i < 1000; i++) {
        double begun = now(), ended = now();
        if (ended > begun && ended - begun < least) least = ended - begun;
    }
    return isfinite(least) ? least : 1e-6;
}

/* Integer additions of a register to another, each waiting for the one before, take one cycle each on every processor that
 * this builds for. (Of a constant they may take none: Intel's renamer has done those since Golden Cove.) Instructions of our
 * own, because a compiler would multiply instead. */
static double chain_hertz(double tick) {
    unsigned long sum = 0, one = 1;
    double begun = now();
    for (int i = 0; i < TURNS; i++)
#if defined(__x86_64__)
        __asm__ volatile(".rept %c2\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(one), "i"(ADDITIONS) : "cc");
#else
        __asm__ volatile(".rept %c2\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(one), "i"(ADDITIONS));
#endif
    double seconds = now() - begun - tick;
    return seconds > 0.0 ? (double)sum / seconds : NAN;
}

struct cycles {
    uint64_t count, enabled, running;
};

/* The core's own counter, for this thread; -1 where the kernel, a container or a virtual machine does not let us. */
static int cycles_open(void) {
    struct perf_event_attr wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.size = sizeof wanted;
    wanted.config = PERF_COUNT_HW_CPU_CYCLES;
    wanted.exclude_kernel = 1; /* else refused without rights */
    wanted.exclude_hv = 1;
    wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void cycles_close(int *file) {
    if (*file >= 0) close(*file);
    *file = -1;
}

static bool cycles_read(int file, struct cycles *into) { return read(file, into, sizeof *into) == (ssize_t)sizeof *into; }

/* Cycles a second while it counted: it may have had to share the counter with others. */
static double cycles_hertz(const struct cycles *from, const struct cycles *to) {
    double nanoseconds = (double)(to->running - from->running);
    return nanoseconds > 0.0 ? 1e9 * (double)(to->count - from->count) / nanoseconds : NAN;
}

#endif

/* membw's memory: each thread's part of each array, filled with numbers whose sums are exact, and checked. */
#ifndef ADVISOR_MEMBW_PARTS_H
#define ADVISOR_MEMBW_PARTS_H

#include "arguments.h"

struct seat { /* of one thread */
    _Alignas(128) double sum;
    double expected; /* sum of a pass */
    size_t wrong;    /* elements */
};

static struct bench {
    struct common common;
    const struct set *set;
    struct team *team;
    struct seat *seats;
    int threads, arrays;
    char *memory, *array[MOST_ARRAYS];
    size_t mapped, part, array_bytes;
} bench;

static double *own_part(int array, int thread) { return (double *)(void *)(bench.array[array] + (size_t)thread * bench.part); }

/* Small whole numbers: all sums are exact, in whatever order. A multiplicative hash, so that no shift repeats them. */
static double value(int array, int thread, size_t i) {
    uint64_t place = (uint64_t)i + (uint64_t)thread * bench.part + 1;
    return 1.0 + (double)((place * (0x9E3779B97F4A7C15u + 2u * (unsigned)array)) >> 54);
}

static const double factor = 3.0, turn = -1.0, nothing = -7.0;

static double expected(const struct pattern *pattern, int thread, size_t i) {
    switch (pattern->operation) {
    case STORE: return factor;
    case COPY: return value(1, thread, i);
    case SCALE: return factor * value(1, thread, i);
    case ADD: return value(1, thread, i) + value(2, thread, i);
    case TRIAD: return value(1, thread, i) + factor * value(2, thread, i);
    case UPDATE: return turn * value(0, thread, i); /* after an odd number of passes */
    default: return value(0, thread, i);
    }
}

static void fill_sources(int thread, int threads, void *data) {
    (void)threads, (void)data;
    for (int array = 0; array < bench.arrays; array++) {
        double *to = own_part(array, thread);
        for (size_t i = 0; i < bench.part / sizeof *to; i++) to[i] = value(array, thread, i);
    }
}

static void fill_target(int thread, int threads, void *data) {
    (void)threads;
    const struct pattern *pattern = data;
    bool source = pattern->operation == LOAD || pattern->operation == UPDATE;
    double *to = own_part(0, thread), sum = 0.0;
    for (size_t i = 0; i < bench.part / sizeof *to; i++) sum += to[i] = source ? value(0, thread, i) : nothing;
    bench.seats[thread] = (struct seat){.expected = sum};
}

static void count_wrong(int thread, int threads, void *data) {
    (void)threads;
    const double *from = own_part(0, thread);
    size_t wrong = 0;
    for (size_t i = 0; i < bench.part / sizeof *from; i++) wrong += from[i] != expected(data, thread, i);
    bench.seats[thread].wrong = wrong;
}

static int most_arrays(void) {
    int most = 1;
    for (int i = 0; i < request.count; i++)
        if (request.entries[i].pattern->variant.arrays > most) most = request.entries[i].pattern->variant.arrays;
    return most;
}

static void take_memory(void) {
    const size_t huge = (size_t)2 << 20;
    bench.arrays = most_arrays();
    size_t share = (size_t)bench.arrays * (size_t)bench.threads, pages = request.bytes / share / PAGE;
    if (pages == 0) kernel_fail(KERNEL_USAGE, "--bytes %zu: at least %zu are needed here", request.bytes, share * PAGE);
    bench.part = (pages % 2 ? pages : pages - 1) * PAGE;
    bench.array_bytes = bench.part * (size_t)bench.threads;
    bench.mapped = bench.array_bytes * (size_t)bench.arrays + huge;
    bench.memory = memory_take(&bench.common, bench.mapped);
    char *start = bench.memory + (huge - (uintptr_t)bench.memory % huge) % huge;
    for (int i = 0; i < MOST_ARRAYS; i++) bench.array[i] = start + (i < bench.arrays ? (size_t)i : 0) * bench.array_bytes;
}

#endif

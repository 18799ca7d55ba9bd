/* The CPUs that stream while memlat's first one chases: at a set rate, and what they read and wrote is checked. */
#ifndef ADVISOR_MEMLAT_LOAD_H
#define ADVISOR_MEMLAT_LOAD_H

#include "chain.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { STREAMS = 4, UNIT = 64, BLOCK = 16 * UNIT };

struct loader {
    _Alignas(128) atomic_ullong bytes; /* moved in this step: the only thing that others look at meanwhile */
    _Alignas(128) char *memory;
    size_t each;  /* bytes of one stream */
    int written;  /* so many of the streams are written */
    uint64_t sum, reads, pass;
    size_t at;
    bool wrong;
};

static atomic_bool over; /* the chase is */

static void store_past_cache(char *to, uint64_t value) {
#if defined(__x86_64__)
    __m128i both = _mm_set1_epi64x((long long)value);
    for (int i = 0; i < UNIT; i += 16) _mm_stream_si128((__m128i *)(void *)(to + i), both);
#elif defined(__aarch64__)
    for (int i = 0; i < UNIT; i += 16) __asm__ volatile("stnp %0, %0, [%1]" : : "r"(value), "r"(to + i) : "memory");
#else
    for (int i = 0; i < UNIT; i += 8) *(volatile uint64_t *)(void *)(to + i) = value;
#endif
}

/* A few lines of every stream: several streams at once keep more lines on their way than one does. */
static void move_block(struct loader *loader) {
    uint64_t sum = 0;
    for (size_t i = loader->at; i < loader->at + BLOCK; i += UNIT)
        for (int stream = 0; stream < STREAMS; stream++) {
            char *at = loader->memory + (size_t)stream * loader->each + i;
            if (stream < loader->written) store_past_cache(at, loader->pass);
            else sum += *(volatile uint64_t *)(void *)at;
        }
    loader->sum += sum;
    loader->reads += (uint64_t)(STREAMS - loader->written) * BLOCK / UNIT;
    loader->at += BLOCK;
    if (loader->at == loader->each) {
        loader->at = 0;
        loader->pass++;
    }
}

/* What was read is ones; what was written is the pass that came by last. */
static bool moved_well(const struct loader *loader) {
    bool good = loader->sum == loader->reads + (BREAK_RESULT == 4);
    for (int stream = 0; stream < loader->written; stream++)
        for (size_t i = 0; i < loader->each; i += UNIT) {
            uint64_t word = *(const uint64_t *)(const void *)(loader->memory + (size_t)stream * loader->each + i);
            good &= word == (i < loader->at ? loader->pass : loader->pass - 1) + (BREAK_RESULT == 5);
        }
    return good;
}

static bool is_over(void) { return atomic_load_explicit(&over, memory_order_relaxed); }

/* A CPU that fell behind does not hurry afterwards: a burst would be no set rate. */
static void stream(struct loader *loader, double rate) {
    const double moves = STREAMS * BLOCK, behind = 1e-4;
    for (double due = now(); rate > 0.0 && !is_over();) {
        move_block(loader);
        unsigned long long moved = atomic_load_explicit(&loader->bytes, memory_order_relaxed);
        atomic_store_explicit(&loader->bytes, moved + (unsigned long long)moves, memory_order_relaxed);
        if (isinf(rate)) continue;
        due = fmax(due + moves / rate, now() - behind);
        while (now() < due && !is_over()) continue;
    }
    loader->wrong = !moved_well(loader);
}

/* By the thread that will use it. One is what is read; it also stands for the pass before the first. */
static void fill(struct loader *loader) {
    loader->pass = 2;
    for (size_t i = 0; i < STREAMS * loader->each; i += UNIT) *(uint64_t *)(void *)(loader->memory + i) = 1;
}

static struct loader *take_loaders(const struct common *common, size_t count, size_t bytes, int written) {
    struct loader *loaders = aligned_alloc(128, count * sizeof *loaders);
    if (!loaders) kernel_fail(KERNEL_CANNOT, "out of memory");
    memset(loaders, 0, count * sizeof *loaders);
    for (size_t i = 0; i < count; i++) {
        loaders[i].memory = memory_take(common, bytes);
        loaders[i].each = bytes / STREAMS;
        loaders[i].written = written;
    }
    return loaders;
}

static void give_loaders(struct loader *loaders, int count) {
    for (int i = 0; i < count; i++) memory_give(loaders[i].memory, STREAMS * loaders[i].each);
    free(loaders);
}

static double moved_by(struct loader *loaders, int count) {
    unsigned long long sum = 0;
    for (int i = 0; i < count; i++) sum += atomic_load_explicit(&loaders[i].bytes, memory_order_relaxed);
    return (double)sum;
}

#endif

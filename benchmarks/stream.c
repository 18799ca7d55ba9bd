/* The comparison's plain side: what STREAM's definition says (copy, scale, add, triad over arrays of doubles, static schedule,
 * a barrier after every pass), and load, store and update in the same way, as a compiler makes them from plain loops.
 *
 * Built by benchmarks/membw.py: with -DPAST stores go past the cache, with -ffreestanding no loop becomes memcpy.
 * stream PATTERN ARRAY_BYTES CPUS SECONDS: prints bytes/s over all passes, bytes counted as STREAM does. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(PAST)
#include <immintrin.h>
#endif

enum { MOST = 1024 };

static double *a, *b, *c;
static size_t length;
static int cpus[MOST], threads;
static double seconds, spent, sums[MOST * 16];
static long passes;
static char pattern;
static pthread_barrier_t barrier;
static volatile double factor = 1.0; /* not known to the compiler */

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Plain C has no such store: vectors as wide as the compiler may use. */
#if !defined(PAST)
#define EACH(value) \
    for (size_t i = from; i < to; i++) x[i] = (value)
#else
#if defined(__AVX512F__)
enum { WIDE = 8 };
#define PUSH(to, from) _mm512_stream_pd(to, _mm512_loadu_pd(from))
#else
enum { WIDE = 4 };
#define PUSH(to, from) _mm256_stream_pd(to, _mm256_loadu_pd(from))
#endif
#define EACH(value) \
    for (size_t block = from; block < to; block += WIDE) { \
        double made[WIDE]; \
        for (size_t i = block, k = 0; k < WIDE; i++, k++) made[k] = (value); \
        PUSH(&x[block], made); \
    }
#endif

static double pass(double *restrict x, const double *restrict y, const double *restrict z, size_t from, size_t to, double s) {
    double sum = 0.0;
    switch (pattern) {
    case 'l':
        for (size_t i = from; i < to; i++) sum += x[i];
        break;
    case 's': EACH(s); break;
    case 'c': EACH(y[i]); break;
    case 'm': EACH(s * y[i]); break;
    case 'a': EACH(y[i] + z[i]); break;
    case 't': EACH(y[i] + s * z[i]); break;
    default: EACH(s * x[i]); break;
    }
    return sum;
}

static void *work(void *which) {
    size_t thread = (size_t)(int *)which - (size_t)cpus, share;
    thread /= sizeof *cpus;
    share = length / (size_t)threads / 64 * 64;
    size_t from = thread * share, to = from + share;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpus[thread], &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) exit(3);
    for (size_t i = from; i < to; i++) a[i] = 1.0, b[i] = 2.0, c[i] = 0.5;
    (void)pass(a, b, c, from, to, factor);
    pthread_barrier_wait(&barrier);
    double begun = now();
    for (int over = 0; !over;) {
        sums[thread * 16] += pass(a, b, c, from, to, factor);
        pthread_barrier_wait(&barrier);
        if (thread == 0) {
            passes++;
            spent = now() - begun;
        }
        pthread_barrier_wait(&barrier);
        over = spent >= seconds;
    }
    return NULL;
}

static double *array(void) {
    void *memory = mmap(NULL, length * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(3);
    return memory;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"load", "store", "copy", "mscale", "add", "triad", "update"};
    pthread_t others[MOST];
    if (argc != 5) return 2;
    for (int i = 0; i < 7; i++)
        if (strcmp(names[i] + (names[i][0] == 'm'), argv[1]) == 0) pattern = names[i][0];
    length = strtoull(argv[2], NULL, 10) / sizeof(double);
    for (char *each = strtok(argv[3], ","); each && threads < MOST; each = strtok(NULL, ",")) cpus[threads++] = atoi(each);
    seconds = atof(argv[4]);
    if (!pattern || !threads) return 2;
    a = array(), b = array(), c = array();
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, work, &cpus[i]) != 0) return 3;
    work(&cpus[0]);
    for (int i = 1; i < threads; i++) pthread_join(others[i], NULL);
    double arrays = pattern == 'l' || pattern == 's' ? 1 : pattern == 'a' || pattern == 't' ? 3 : 2;
    double bytes = arrays * (double)(length / (size_t)threads / 64 * 64 * (size_t)threads) * sizeof(double) * (double)passes;
    /* The sum is used, so that no compiler leaves the loads out. */
    printf("%.6g%s\n", bytes / spent, sums[0] < 0 ? " " : "");
    return 0;
}

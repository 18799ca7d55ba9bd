/* What each thread of peakflops does, and what must come of it. */
#ifndef ADVISOR_PEAKFLOPS_WORK_H
#define ADVISOR_PEAKFLOPS_WORK_H

#include "../common/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "sets.h"

/* A test breaks the result on purpose: one step is left out. */
#ifdef BREAK_RESULT
#define LEFT_OUT 1
#else
#define LEFT_OUT 0
#endif

enum { STEPS = 1 << 15, STARTS = 4, MOST_CHAINS = 24, MOST_VECTOR = 256, MOST_SAMPLES = 4096 };

/* By these the values stay between 0.2 and 3 for all STEPS, and each step still changes a single. */
static const double FACTOR = 1.0 - 1.0 / STEPS, TERM = 1.0 / STEPS, START[STARTS] = {1.3, 0.7, 1.9, 0.6};

/* The last so many of a repeat. */
struct series {
    double value[MOST_SAMPLES];
    long count;
};

struct worker {
    _Alignas(MOST_VECTOR) unsigned char begin[MOST_CHAINS * MOST_VECTOR];
    unsigned char end[MOST_CHAINS * MOST_VECTOR];
    struct series burst, clock; /* seconds; hertz */
    double rate, sustained, hertz, share, *values; /* of the last repeat; one a repeat */
    int cycles;                                    /* a counter's file; -1: none */
    bool wrong;
};

struct job {
    const struct set *set;
    enum operation operation;
    double seconds, slice, tick, expected[STARTS];
    struct worker *workers;
};

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of some values, which it sorts. */
static double median(double *values, int count) {
    if (count == 0) return NAN;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

static int chains_of(const struct job *job) { return job->operation == CHAIN ? 1 : job->set->chains; }

static int elements_of(const struct job *job) { return chains_of(job) * job->set->lanes(); }

static double flops_of(const struct job *job) {
    return elements_of(job) * (job->operation == ADD || job->operation == MUL ? 1.0 : 2.0);
}

static double element(const struct job *job, const unsigned char *from, int i) {
    return job->set->single ? (double)((const float *)(const void *)from)[i] : ((const double *)(const void *)from)[i];
}

static void fill(const struct job *job, unsigned char *into) {
    for (int i = 0; i < elements_of(job); i++)
        if (job->set->single) ((float *)(void *)into)[i] = (float)START[i % STARTS];
        else ((double *)(void *)into)[i] = START[i % STARTS];
}

static bool right(const struct job *job, const struct worker *me) {
    for (int i = 0; i < elements_of(job); i++)
        if (element(job, me->end, i) != job->expected[i % STARTS]) return false;
    return true;
}

static void add(struct series *series, double value) { series->value[series->count++ % MOST_SAMPLES] = value; }

static int held(const struct series *series) { return series->count < MOST_SAMPLES ? (int)series->count : MOST_SAMPLES; }

/* Returns the seconds that the bursts took. */
static double slice(const struct job *job, struct worker *me) {
    burst run = job->set->run[job->operation];
    struct cycles from, to;
    bool counted = me->cycles >= 0 && cycles_read(me->cycles, &from);
    double begun = now(), ended = begun, hertz = NAN;
    do {
        double before = ended;
        run(me->begin, me->end, STEPS - LEFT_OUT, FACTOR, TERM);
        ended = now();
        add(&me->burst, ended - before);
    } while (ended - begun < job->slice);
    if (counted && cycles_read(me->cycles, &to)) hertz = cycles_hertz(&from, &to);
    add(&me->clock, hertz > 0.0 ? hertz : chain_hertz(job->tick));
    return ended - begun;
}

/* That this thread really had: a CPU may have been shared with another program. */
static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void repeat(int thread, int threads, void *data) {
    struct job *job = data;
    struct worker *me = &job->workers[thread];
    double busy = 0.0, begun = now(), had = cpu_seconds(), flops = STEPS * flops_of(job);
    (void)threads;
    me->burst.count = me->clock.count = 0;
    do busy += slice(job, me);
    while (now() - begun < job->seconds);
    me->share = fmin((cpu_seconds() - had) / (now() - begun), 1.0);
    me->sustained = (double)me->burst.count * flops / busy;
    me->rate = flops / median(me->burst.value, held(&me->burst));
    me->hertz = median(me->clock.value, held(&me->clock));
    me->wrong = !right(job, me);
}

static void warm_up(int thread, int threads, void *data) {
    struct job *job = data;
    struct worker *me = &job->workers[thread];
    struct cycles from, to;
    fill(job, me->begin);
    me->cycles = cycles_open();
    bool counted = me->cycles >= 0 && cycles_read(me->cycles, &from);
    repeat(thread, threads, data);
    if (!counted || !cycles_read(me->cycles, &to) || !(cycles_hertz(&from, &to) > 0.0)) cycles_close(&me->cycles);
}

/* ---- what must come of it ---- */

/* The same steps, one number at a time. */
static double step_double(enum operation operation, double x) {
    if (operation == FMA) return fma(x, FACTOR, TERM);
    if (operation == CHAIN) return fma(FACTOR, TERM, x);
    if (operation != ADD) x *= FACTOR;
    KEEP(x); /* or a compiler might fuse what follows */
    return operation == MUL ? x : x + TERM;
}

static float step_single(enum operation operation, float x) {
    float factor = (float)FACTOR, term = (float)TERM;
    if (operation == FMA) return fmaf(x, factor, term);
    if (operation == CHAIN) return fmaf(factor, term, x);
    if (operation != ADD) x *= factor;
    KEEP(x);
    return operation == MUL ? x : x + term;
}

static void expect(struct job *job) {
    enum operation operation = job->operation == FMA && job->set->sums ? CHAIN : job->operation;
    for (int i = 0; i < STARTS; i++) {
        double x = job->set->single ? (double)(float)START[i] : START[i];
        for (int step = 0; step < STEPS; step++)
            x = job->set->single ? (double)step_single(operation, (float)x) : step_double(operation, x);
        job->expected[i] = x;
    }
}

#endif

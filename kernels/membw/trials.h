/* membw at work: passes over the threads' parts in a shape, and trials that find the best shape. */
#ifndef ADVISOR_MEMBW_TRIALS_H
#define ADVISOR_MEMBW_TRIALS_H

#include "parts.h"

#ifdef BREAK_RESULT
enum { FORGOTTEN = BLOCK }; /* for the test that a wrong result is noticed */
#else
enum { FORGOTTEN = 0 };
#endif

struct work {
    const struct pattern *pattern;
    struct shape shape;
    struct layout layout;
    size_t from, to; /* of every stream, all groups' lengths joined */
    long passes;
};

static struct work whole(const struct pattern *pattern, const struct shape *shape, long passes) {
    struct layout layout = lay_out(shape, bench.part);
    return (struct work){pattern, *shape, layout, 0, layout.apart * layout.groups, passes};
}

static struct streams streams_at(const struct work *work, size_t at) {
    return (struct streams){
        .a = bench.array[0] + at,
        .b = bench.array[1] + at,
        .c = bench.array[2] + at,
        .count = 1,
        .apart = work->layout.apart,
        .ahead = (size_t)work->shape.ahead,
        .factor = work->pattern->operation == UPDATE ? turn : factor,
    };
}

static double walk_part(const struct work *work, walker walk, size_t start) {
    const struct layout *layout = &work->layout;
    double sum = 0.0;
    for (size_t at = work->from; at < work->to;) {
        size_t group = at / layout->apart, inside = at % layout->apart;
        struct streams streams = streams_at(work, start + group * layout->group + inside);
        size_t left = layout->apart - inside, length = work->to - at < left ? work->to - at : left;
        streams.count = (size_t)work->shape.streams;
        streams.length = length - FORGOTTEN;
        sum += walk(&streams);
        at += length;
    }
    if (work->to == layout->apart * layout->groups) {
        struct streams rest = streams_at(work, start + layout->groups * layout->group);
        rest.length = bench.part - layout->groups * layout->group;
        sum += walk(&rest);
    }
    return sum;
}

static const struct set *set_of(const struct shape *shape) { return shape->set ? shape->set : bench.set; }

static void do_work(int thread, int threads, void *data) {
    (void)threads;
    const struct work *work = data;
    const struct pattern *pattern = work->pattern;
    walker walk = set_of(&work->shape)->walkers[walker_place(pattern->operation, is_nt(pattern), work->shape.hint)];
    double sum = 0.0;
    for (long pass = 0; pass < work->passes; pass++)
        if (pattern->how == LIBRARY) memcpy(own_part(0, thread), own_part(1, thread), bench.part - FORGOTTEN);
        else sum += walk_part(work, walk, (size_t)thread * bench.part);
    if (is_nt(pattern)) drain();
    bench.seats[thread].sum += sum;
}

static double time_work(struct work work) { return team_run(bench.team, do_work, &work); }

/* ---- trials ---- */

enum { MOST_TRIALS = 12 };

struct trial {
    struct shape shape;
    int count;
    double rates[MOST_TRIALS];
};

/* The upper quartile: whoever else uses the memory makes a trial slower, never faster. */
static double undisturbed(const struct trial *trial) {
    double sorted[MOST_TRIALS];
    for (int i = 0; i < trial->count; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > trial->rates[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = trial->rates[i];
    }
    return sorted[3 * trial->count / 4];
}

static int by_rate(const void *one, const void *two) {
    double a = undisturbed(one), b = undisturbed(two);
    return (a < b) - (a > b);
}

/* Leaves of the work the next share of memory, so that a trial seldom finds in the cache what another one left there.
 * Returns the bytes that a thread walks in each array. */
static size_t take_slice(struct work *work, double share) {
    static double phase;
    size_t blocks = work->to / BLOCK - 1, many = (size_t)(share * (double)blocks) + 1; /* with the last one a rest is walked */
    phase = phase + 2.0 * share > 1.0 ? 0.0 : phase + share;
    size_t from = (size_t)(phase * (double)blocks), last = blocks - many;
    work->from = (from < last ? from : last) * BLOCK;
    work->to = work->from + many * BLOCK;
    return many * BLOCK * (size_t)work->shape.streams;
}

/* `pass` is the time of a whole pass. */
static void try_shape(const struct pattern *pattern, struct trial *trial, double pass) {
    double share = request.trial_seconds / pass;
    struct work work = whole(pattern, &trial->shape, share < 1.0 ? 1 : (long)share + 1);
    size_t bytes = share < 1.0 ? take_slice(&work, share) : bench.part;
    trial->rates[trial->count++] = (double)bytes * (double)work.passes / time_work(work);
}

/* Forgets what the best were found by, and sets beside each the same in all narrower vectors: all are compared anew, by
 * turns. On some CPUs narrower loads keep more lines on their way (Zen 4: up to 1.1 times). */
static int with_narrower(struct trial *trials, int count) {
    int all = count;
    for (int i = 0; i < count; i++) trials[i].count = 0;
    for (const struct set *set = sets + 1; set < bench.set && !bench.common.isa; set++)
        for (int i = 0; i < count && set_fits(set); i++, all++) {
            trials[all] = trials[i];
            trials[all].shape.set = set;
        }
    return all;
}

/* All twice, the best eight and their narrower twins three times, the best four of those nine times more. */
static struct shape best_shape(const struct pattern *pattern, int *tried) {
    static struct shape shapes[MOST_SHAPES];
    static struct trial trials[SETS * MOST_SHAPES];
    static const struct {
        int most, times;
    } rounds[] = {{MOST_SHAPES, 2}, {8, 3}, {4, 9}};
    *tried = list_shapes(pattern->operation, is_nt(pattern), request.streams, bench.part, shapes);
    if (*tried == 0) kernel_fail(KERNEL_USAGE, "--streams %d: 1, 2, 3, 4, 6, 8 or 16 of at least a page each", request.streams);
    for (int i = 0; i < *tried; i++) trials[i] = (struct trial){.shape = shapes[i]};
    double pass = time_work(whole(pattern, &shapes[0], 1));
    for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
        int count = *tried < rounds[round].most ? *tried : rounds[round].most;
        if (round == 1) count = with_narrower(trials, count);
        for (int time = 0; time < rounds[round].times; time++)
            for (int i = 0; i < count; i++) try_shape(pattern, &trials[i], pass);
        qsort(trials, (size_t)count, sizeof *trials, by_rate);
    }
    return trials[0].shape;
}

#endif

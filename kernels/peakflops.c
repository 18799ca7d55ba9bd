/* peakflops: floating point
 *
 * arguments: --variants LIST, --precision WIDTH, --seconds S
 * parts: core l3 numa socket machine
 *
 *   variant        unit    arrays  read  written  flops  iteration
 *   fma            flop/s       0     0        0      2  fused multiply-add, x = x*f + t in each lane of a vector
 *   muladd         flop/s       0     0        0      2  multiply and add, x = x*f and then x = x + t in each lane of a vector
 *   add            flop/s       0     0        0      1  add, x = x + t in each lane of a vector
 *   mul            flop/s       0     0        0      1  multiply, x = x*f in each lane of a vector
 *   chain          flop/s       0     0        0      2  chain of adds, fma after fma, each waiting for the one before
 *   scalar-fma     flop/s       0     0        0      2  fused multiply-add, one number at a time
 *   scalar-muladd  flop/s       0     0        0      2  multiply and add, one number at a time
 *   scalar-add     flop/s       0     0        0      1  add, one number at a time
 *   scalar-mul     flop/s       0     0        0      1  multiply, one number at a time
 *   scalar-chain   flop/s       0     0        0      2  chain of adds, one number at a time
 *   clock          hertz        0     -        -      -  clock, under scalar and vector load
 *
 * How many floating-point operations a second CPUs do, by operation and width, and the clock they then run at: all --cpus
 * together, each for itself with no memory: the sum of what they did in the same --seconds. A CPU's rate is that of its median
 * burst (32768 steps, some 35 to 210 us), so that what the system does in between is left out; `sustained` counts all bursts
 * by all their time, as other programs do. `flops` are those of one step of one thread: chains x lanes x flops of an iteration.
 * fma: multiply and add in one; add, mul: one of them; muladd: the same as fma, in two (the ceiling without FMA);
 * chain: one fma waits for the one before (the ceiling without unrolling); scalar-...: the same, one number at a time (the
 * ceiling without SIMD). One of --cpus is the ceiling of a serial program.
 * clock: the mean clock of the loaded CPUs under scalar and each wider fma, first CPU alone, then all --cpus.
 * The load runs in slices of half a millisecond; right behind each the same thread times a chain of integer additions, one
 * cycle each, for some 40 us: a core that slowed down for wide vectors takes longer than that to speed up (Intel: 2/3 ms).
 * The median of the slices counts. Where perf_event is allowed cycles are counted while the load runs, without a chain.
 * Checked: each lane of each chain, bit for bit, against the same steps taken one by one without vectors.
 * Fields of its own: precision; sustained; chains, lanes (of a vector), flops; cpu_values (median of each CPU, in the order
 * of cpus), cpu_least (the slowest's), cpu_share (of its CPU's time that the most disturbed thread had; 1: nobody else ran
 * there); clock (mean of the CPUs meanwhile, median of the repeats), clock_from (perf, chain), clock_resolution (hertz),
 * samples (of the clock in a repeat), flops_per_cycle (of one CPU); load (of clock lines).
 * It cannot tell what a power limit does later than --seconds x --repeats, nor what a core does beside a busy twin if only
 * one of the two is among --cpus; on both twins the chain waits now and then, and the clock reads low.
 */
#include "common/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "peakflops/arguments.h"
#include "peakflops/work.h"

static const double RATE_SLICE = 0.005, CLOCK_SLICE = 0.0005;

/* ---- a measurement ---- */

struct result {
    double *values, *sustained, *seconds, *hertz, *per_cycle, *shares, *cpu_values; /* one a repeat; the last one a CPU */
    double clock, slice;
    long samples; /* of one CPU in the last repeat */
    bool perf;
};

static void *room(size_t bytes) {
    size_t whole = (bytes + MOST_VECTOR - 1) / MOST_VECTOR * MOST_VECTOR;
    void *memory = aligned_alloc(MOST_VECTOR, whole);
    if (!memory) kernel_fail(KERNEL_CANNOT, "out of memory");
    return memset(memory, 0, whole);
}

static void check(const struct job *job, const struct common *common) {
    for (int i = 0; i < common->cpus.count; i++)
        if (job->workers[i].wrong)
            kernel_fail(KERNEL_WRONG, "CPU %d calculated wrongly with %s instructions: do not trust it", common->cpus.cpu[i],
                        job->set->isa);
}

/* The number `which` of each repeat: what the CPUs make together, and their mean clock. */
static void collect(const struct job *job, const struct common *common, struct result *result, int which, bool clocks) {
    double hertz = 0.0, rate = 0.0, sustained = 0.0, share = 1.0;
    for (int i = 0; i < common->cpus.count; i++) {
        struct worker *each = &job->workers[i];
        hertz += each->hertz / common->cpus.count;
        rate += each->rate;
        sustained += each->sustained;
        share = fmin(share, each->share);
        each->values[which] = clocks ? each->hertz : each->rate;
    }
    result->hertz[which] = hertz;
    result->values[which] = clocks ? hertz : rate;
    result->sustained[which] = sustained;
    result->shares[which] = share;
    result->per_cycle[which] = rate / hertz / common->cpus.count;
    result->samples = job->workers[0].clock.count;
}

/* Cycles count only where every CPU can count them: one result has one kind of clock. */
static bool all_count(const struct job *job, const struct common *common) {
    bool all = true;
    for (int i = 0; i < common->cpus.count; i++) all = all && job->workers[i].cycles >= 0;
    for (int i = 0; i < common->cpus.count && !all; i++) cycles_close(&job->workers[i].cycles);
    return all;
}

static void seat(struct job *job, const struct common *common) {
    job->workers = room((size_t)common->cpus.count * sizeof *job->workers);
    for (int i = 0; i < common->cpus.count; i++) {
        job->workers[i].values = room((size_t)common->repeats * sizeof(double));
        job->workers[i].cycles = -1;
    }
}

static void unseat(struct job *job, const struct common *common, double *cpu_values) {
    for (int i = 0; i < common->cpus.count; i++) {
        cycles_close(&job->workers[i].cycles);
        cpu_values[i] = median(job->workers[i].values, common->repeats);
        free(job->workers[i].values);
    }
    free(job->workers);
}

static struct result measure(struct job *job, const struct common *common, bool clocks) {
    size_t repeats = (size_t)common->repeats * sizeof(double), cpus = (size_t)common->cpus.count * sizeof(double);
    struct result result = {.values = room(repeats),
                            .sustained = room(repeats),
                            .seconds = room(repeats),
                            .hertz = room(repeats),
                            .per_cycle = room(repeats),
                            .shares = room(repeats),
                            .cpu_values = room(cpus),
                            .slice = job->slice};
    seat(job, common);
    expect(job);
    struct team *team = team_start(&common->cpus);
    (void)team_run(team, warm_up, job);
    check(job, common);
    result.perf = all_count(job, common);
    for (int i = 0; i < common->repeats; i++) {
        result.seconds[i] = team_run(team, repeat, job);
        check(job, common);
        collect(job, common, &result, i, clocks);
    }
    team_end(team);
    unseat(job, common, result.cpu_values);
    result.clock = median(result.hertz, common->repeats);
    return result;
}

/* ---- lines ---- */

static void line_clock(const struct result *result) {
    double sampled = result->perf ? result->slice : ADDITIONS * TURNS / result->clock;
    line_text("clock_from", result->perf ? "perf" : "chain");
    line_number("clock_resolution", result->clock * options.tick / sampled);
    line_whole("samples", result->samples);
}

static void give(struct result *result) {
    double *all[] = {result->values,    result->sustained, result->seconds,   result->hertz,
                     result->per_cycle, result->shares,    result->cpu_values};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void print(const struct job *job, const struct common *common, const char *variant, const struct result *result,
                  bool clocks) {
    int cpus = common->cpus.count;
    line_begin(&KERNEL, common, variant, clocks ? "hertz" : "flop/s");
    line_text("isa", job->set->isa);
    line_text("precision", job->set->single ? "single" : "double");
    if (clocks) line_text("load", job->operation == FMA ? "fma" : "muladd");
    line_numbers("values", result->values, common->repeats);
    line_numbers("seconds", result->seconds, common->repeats);
    if (!clocks) line_numbers("sustained", result->sustained, common->repeats);
    line_number("flops", flops_of(job));
    line_whole("chains", chains_of(job));
    line_whole("lanes", job->set->lanes());
    line_numbers("cpu_values", result->cpu_values, cpus);
    double least = result->cpu_values[0];
    for (int i = 1; i < cpus; i++) least = fmin(least, result->cpu_values[i]);
    line_number("cpu_least", least);
    line_number("cpu_share", median(result->shares, common->repeats));
    if (!clocks) line_number("clock", result->clock);
    line_clock(result);
    if (!clocks) line_number("flops_per_cycle", median(result->per_cycle, common->repeats));
    line_end();
}

static bool can(const struct set *set, enum operation operation) {
    bool fused = operation == FMA || operation == CHAIN;
    return set->run[operation] && !(fused && set->fma_needs && !cpu_has(set->fma_needs));
}

static const struct set *find_set(const char *isa) {
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++)
        if (strcmp(SETS[i].isa, isa) == 0 && SETS[i].single == options.single) return &SETS[i];
    kernel_fail(KERNEL_CANNOT, "unknown instruction set %s", isa);
}

static void rate(const struct common *common, const char *isa, int which) {
    struct job job = {.set = find_set(is_scalar(which) ? "scalar" : isa), .operation = operation_of(which),
                      .seconds = options.seconds, .slice = RATE_SLICE, .tick = options.tick};
    bool asked = options.variant[which];
    if (!can(job.set, job.operation)) {
        if (asked) kernel_fail(KERNEL_CANNOT, "%s: no FMA with %s instructions here; try muladd", VARIANTS[which].name,
                               job.set->isa);
        return;
    }
    if (!asked && strcmp(isa, "scalar") == 0 && is_scalar(which)) return; /* has been there without the prefix */
    struct result result = measure(&job, common, false);
    print(&job, common, VARIANTS[which].name, &result, false);
    give(&result);
}

static void clock_under(const struct common *common, const char *isa) {
    struct job job = {.set = find_set(isa), .seconds = options.seconds, .slice = CLOCK_SLICE, .tick = options.tick};
    job.operation = can(job.set, FMA) ? FMA : MULADD;
    struct result result = measure(&job, common, true);
    print(&job, common, "clock", &result, true);
    give(&result);
}

/* Under each width up to the one to use; sse2 only where there is nothing wider: its clock is that of scalars. */
static void clocks(const struct common *common, const char *isa) {
    struct common first = *common;
    first.cpus.count = 1;
    for (const char *const *each = ISAS; *each; each++) {
        bool last = strcmp(*each, isa) == 0;
        if (cpu_has(*each) && (last || strcmp(*each, "sse2") != 0)) {
            clock_under(&first, *each);
            if (common->cpus.count > 1) clock_under(common, *each);
        }
        if (last) return;
    }
}

int main(int argc, char **argv) {
    struct common common;
    kernel_arguments(&KERNEL, argc, argv, &common);
    const char *isa = kernel_isa(&common, ISAS);
    options.tick = clock_tick();
    for (int i = 0; i < RATE_COUNT; i++)
        if (options.all || options.variant[i]) rate(&common, isa, i);
    if (options.all || options.variant[CLOCK]) clocks(&common, isa);
    free(common.cpus.cpu);
    return KERNEL_GOOD;
}

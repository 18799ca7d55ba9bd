/* memlat: memory latency
 *
 * arguments: --bytes SIZE, --sizes LIST, --stride, --lines, --line SIZE, --chunk SIZE, --seconds S, --load-cpus LIST,
 *   --load-rate RATE, --load-kind KIND, --load-bytes SIZE
 * parts: core
 *
 *   variant       unit     arrays  read  written  flops  iteration
 *   chase         seconds       1     8        0      0  each load waits for the one before it; lines in random order
 *   stride        seconds       1     8        0      0  each load waits for the one before it; lines in address order
 *   lines         seconds       1     8        0      1  independent loads; lines in the order of addresses
 *   chase-loaded  seconds       1     8        0      0  chase while other CPUs stream
 *
 * How long one load takes, from the first-level cache to memory. One 8-byte load a cache line; `bytes` is the memory walked.
 * One thread, on the first of --cpus.
 * chase: every load's address is what the load before it brought; the lines in one random cycle through all of `bytes`.
 * stride: the same, the lines in the order of their addresses: what prefetching hides is hidden.
 * lines: a double of each line, in the order of addresses, waiting for none before it: a line's time is bandwidth, not latency.
 * chase-loaded: chase while --load-cpus stream through memory of their own (on the same --node) at a set rate.
 * Checked: each line is followed by the one whose place comes next, so that a walk meets all lines once before it comes
 * back to its first; each timed walk ends on the line that counting says; lines' sums; what the streaming CPUs read and wrote.
 * Fields of its own: line (bytes from line to line), chunk, loads (of a repeat); load_cpus, load_kind, load_rate_asked and
 * load_rate (bytes/s of all of them together while the chase ran; asked only where a rate was), load_bytes (of each).
 * It cannot tell address translation from memory: a random walk over many normal pages pays for both; compare --pages huge
 * and --chunk. Neighbours on the same cache or memory make it slower without a word.
 */
#include "common/kernel.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memlat/arguments.h"
#include "memlat/lines.h"
#include "memlat/load.h"

enum { UNROLL = 16, STEPS = 8, HUGE_PAGE = 1 << 21 };

/* ---- what is timed ---- */

struct probe {
    struct chain chain;
    const struct line *at;
    size_t loads; /* of a repeat */
    int repeats;
    double *values, *seconds;
    struct loader *loaders;
    double rate, load_rate; /* asked and got, bytes/s */
};

__attribute__((noinline)) static const struct line *walk(const struct line *at, size_t loads) {
    for (size_t i = 0; i < loads; i += UNROLL) {
        at = at->next->next->next->next;
        at = at->next->next->next->next;
        at = at->next->next->next->next;
        at = at->next->next->next->next;
    }
    return at;
}

static double timed_walk(struct probe *probe) {
    uint64_t begun = probe->at->place, end = (begun + probe->loads) % probe->chain.lines;
    double start = now();
    probe->at = walk(probe->at, probe->loads - (BREAK_RESULT == 2 ? UNROLL : 0));
    double took = now() - start;
    if (probe->at->place != end) kernel_fail(KERNEL_WRONG, "the walk did not end on the expected line");
    return took;
}

static double timed(struct probe *probe) { return options.lines ? timed_lines(&probe->chain, probe->loads) : timed_walk(probe); }

/* So many loads that they come out even. */
static size_t even(const struct probe *probe, double loads) {
    size_t unit = options.lines ? probe->chain.lines : UNROLL;
    return loads < (double)unit ? unit : (size_t)(loads / (double)unit) * unit;
}

/* Until the caches hold what they can and the clock is up; then it knows how many loads a repeat takes. The quicker of two
 * long walks says so: another program may have run meanwhile. */
static void warm_up(struct probe *probe) {
    double began = now(), each = INFINITY;
    probe->loads = even(probe, 1024.0);
    for (size_t done = 0, rounds = 0; rounds < 2 || (done < probe->chain.lines && now() - began < 2.0 * options.seconds);) {
        double took = timed(probe);
        done += probe->loads;
        if (took >= 0.25 * options.seconds) {
            each = fmin(each, took / (double)probe->loads);
            rounds++;
        } else probe->loads *= 2;
    }
    probe->loads = even(probe, options.seconds / each);
}

/* ---- one size, one rate ---- */

static void measure(struct probe *probe) {
    int loading = options.loading.count;
    for (int i = 0; probe->rate > 0.0 && i < loading; i++)
        while (moved_by(&probe->loaders[i], 1) == 0.0) sched_yield();
    warm_up(probe);
    double bytes = moved_by(probe->loaders, loading), begun = now();
    for (int i = 0; i < probe->repeats; i++) {
        probe->seconds[i] = timed(probe);
        probe->values[i] = probe->seconds[i] / (double)probe->loads;
    }
    probe->load_rate = (moved_by(probe->loaders, loading) - bytes) / (now() - begun);
    atomic_store(&over, true);
}

static void work(int thread, int threads, void *data) {
    struct probe *probe = data;
    if (thread == 0) measure(probe);
    else stream(&probe->loaders[thread - 1], probe->rate / (threads - 1));
}

static void prepare(int thread, int threads, void *data) {
    (void)threads;
    if (thread > 0) fill(&((struct probe *)data)->loaders[thread - 1]);
}

static void print_load(const struct probe *probe) {
    double *cpus = malloc((size_t)options.loading.count * sizeof *cpus);
    if (!cpus) kernel_fail(KERNEL_CANNOT, "out of memory");
    for (int i = 0; i < options.loading.count; i++) cpus[i] = options.loading.cpu[i];
    line_numbers("load_cpus", cpus, options.loading.count);
    line_text("load_kind", options.kind);
    line_whole("load_bytes", (long long)options.load_bytes);
    if (isfinite(probe->rate)) line_number("load_rate_asked", probe->rate);
    line_number("load_rate", probe->load_rate);
    free(cpus);
}

static void print_result(const struct common *common, const struct probe *probe) {
    size_t bytes = probe->chain.lines * probe->chain.line;
    const char *alone = options.stride ? "stride" : options.lines ? "lines" : "chase";
    line_begin(&KERNEL, common, options.loading.count ? "chase-loaded" : alone, "seconds");
    line_whole("bytes", (long long)bytes);
    line_whole("line", (long long)options.line);
    if (options.chunk) line_whole("chunk", (long long)options.chunk);
    line_whole("loads", (long long)probe->loads);
    if (options.loading.count) print_load(probe);
    line_numbers("values", probe->values, probe->repeats);
    line_numbers("seconds", probe->seconds, probe->repeats);
    line_pages(probe->chain.memory, bytes);
    line_page_kind(probe->chain.memory, bytes);
    line_end();
}

static void run(const struct common *common, struct team *team, struct probe *probe, double rate) {
    probe->rate = rate;
    atomic_store(&over, false);
    for (int i = 0; i < options.loading.count; i++) atomic_store(&probe->loaders[i].bytes, 0);
    team_run(team, work, probe);
    for (int i = 0; i < options.loading.count; i++)
        if (probe->loaders[i].wrong)
            kernel_fail(KERNEL_WRONG, "CPU %d did not read or write the expected values", options.loading.cpu[i]);
    print_result(common, probe);
}

static void run_size(const struct common *common, struct team *team, struct probe *probe, size_t bytes) {
    probe->chain.lines = bytes / options.line;
    if (options.lines) fill_lines(&probe->chain);
    else {
        link_lines(&probe->chain);
        check_chain(&probe->chain);
    }
    probe->at = line_at(&probe->chain, 0);
    if (options.steps) run(common, team, probe, 0.0);
    run(common, team, probe, options.rate);
    double most = probe->load_rate;
    for (int step = STEPS - 1; options.steps && step > 0; step--) run(common, team, probe, most * step / STEPS);
}

int main(int argc, char **argv) {
    struct common common;
    kernel_arguments(&KERNEL, argc, argv, &common);
    check_shape();
    size_t bytes = check_sizes(), room = bytes + (common.pages == PAGES_HUGE ? HUGE_PAGE : 0);
    struct cpu_list cpus = check_cpus(&common);
    struct team *team = team_start(&cpus);
    struct probe probe = {.repeats = common.repeats, .values = numbers_take(common.repeats), .seconds = numbers_take(common.repeats)};
    probe.loaders = check_loaders(&common);
    team_run(team, prepare, &probe);
    char *memory = memory_take(&common, room);
    probe.chain = (struct chain){memory, 0, options.line, options.chunk, options.stride, 0.0};
    /* A small size, too, begins with a huge page where these are asked for. */
    if (common.pages == PAGES_HUGE) probe.chain.memory += (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    for (int i = 0; i < options.sizes; i++) run_size(&common, team, &probe, options.size[i]);
    team_end(team);
    memory_give(memory, room);
    give_loaders(probe.loaders, options.loading.count);
    void *mine[] = {probe.values, probe.seconds, cpus.cpu, options.loading.cpu, common.cpus.cpu};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) free(mine[i]);
    return KERNEL_GOOD;
}

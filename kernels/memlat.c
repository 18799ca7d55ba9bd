/* memlat: how long one load takes, from the first-level cache to memory, alone or while other CPUs stream.
 *
 * unit seconds, per load; one 8-byte load a cache line; `bytes` is the memory walked. One thread, on the first of --cpus.
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
#include "kernel.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A test breaks the result on purpose: 1 the chain, 2 the walk, 3 the sum of lines, 4 what is read meanwhile, 5 written. */
#ifndef BREAK_RESULT
#define BREAK_RESULT 0
#endif

#include "memlat_chain.h"
#include "memlat_lines.h"
#include "memlat_load.h"

enum { MOST_SIZES = 256, UNROLL = 16, STEPS = 8, HUGE_PAGE = 1 << 21 };

static const char *const VARIANTS[] = {
    "chase seconds: a load that waits for the one before, random order",
    "stride seconds: a load that waits for the one before, in the order of addresses",
    "lines seconds: a load that waits for none, in the order of addresses",
    "chase-loaded seconds: chase while other CPUs stream",
    NULL,
};

/* ---- arguments ---- */

static struct {
    size_t bytes, size[MOST_SIZES], line, chunk, load_bytes;
    int sizes, written; /* of the streams of a loading CPU, so many are written */
    bool ladder, stride, lines, steps, rated;
    double seconds, rate; /* all loading CPUs together */
    const char *kind;
    struct cpu_list loading;
} wish = {.bytes = (size_t)1 << 30, .line = 64, .seconds = 0.05, .rate = INFINITY, .kind = "load"};

static const char *take_sizes(const char *text, void *into) {
    static const char *const wanted = "ladder, or sizes such as 32KiB,1MiB";
    char word[32];
    (void)into;
    wish.ladder = strcmp(text, "ladder") == 0;
    for (wish.sizes = 0; !wish.ladder;) {
        size_t length = strcspn(text, ",");
        if (length >= sizeof word || wish.sizes == MOST_SIZES) return wanted;
        memcpy(word, text, length);
        word[length] = '\0';
        if (take_bytes(word, &wish.size[wish.sizes++])) return wanted;
        if (text[length] == '\0') break;
        text += length + 1;
    }
    return NULL;
}

static const char *take_line(const char *text, void *into) {
    size_t line;
    bool good = !take_bytes(text, &line) && line >= sizeof(struct line) && line <= 4096 && (line & (line - 1)) == 0;
    if (good) *(size_t *)into = line;
    return good ? NULL : "a power of two, 16 to 4096";
}

static const char *take_rate(const char *text, void *into) {
    char *rest;
    (void)into;
    wish.rated = true;
    wish.rate = INFINITY;
    wish.steps = strcmp(text, "steps") == 0;
    if (wish.steps || strcmp(text, "max") == 0) return NULL;
    errno = 0;
    wish.rate = strtod(text, &rest);
    bool good = errno == 0 && rest != text && *rest == '\0' && wish.rate > 0.0 && wish.rate < 1e15;
    return good ? NULL : "max, steps or bytes/s such as 5e9";
}

static const char *take_kind(const char *text, void *into) {
    static const char *const kinds[] = {"load", "copy-nt", "store-nt"};
    (void)into;
    for (int i = 0; i < 3; i++)
        if (strcmp(text, kinds[i]) == 0) {
            wish.kind = kinds[i];
            wish.written = i * STREAMS / 2;
            return NULL;
        }
    return "load, copy-nt or store-nt";
}

static const struct argument ARGUMENTS[] = {
    {"bytes", "SIZE", "memory to walk, and the ladder's end (default 1GiB)", take_bytes, &wish.bytes},
    {"sizes", "LIST", "walk each of these sizes, or `ladder`: 4KiB, 6KiB, 8KiB, 12KiB and so on to --bytes", take_sizes, NULL},
    {"stride", NULL, "chase in the order of addresses", take_flag, &wish.stride},
    {"lines", NULL, "do not chase: load the lines in order, none waiting for another", take_flag, &wish.lines},
    {"line", "SIZE", "from one line to the next (default 64)", take_line, &wish.line},
    {"chunk", "SIZE", "walk so many bytes whole before the next so many: fewer address translations", take_bytes, &wish.chunk},
    {"seconds", "S", "about how long a repeat takes (default 0.05)", take_seconds, &wish.seconds},
    {"load-cpus", "LIST", "meanwhile these CPUs stream", take_cpus, &wish.loading},
    {"load-rate", "RATE", "bytes/s of all together; max; or steps: none, max, eighths of max (default max)", take_rate, NULL},
    {"load-kind", "KIND", "they do load, copy-nt (as much read as written) or store-nt (default load)", take_kind, NULL},
    {"load-bytes", "SIZE", "memory of each (default: --bytes between them, 64MiB at least)", take_bytes, &wish.load_bytes},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"memlat", "how long a load takes, from cache to memory", VARIANTS, ARGUMENTS, 5};

static void check_shape(void) {
    bool in_order = wish.stride || wish.lines, loaded = wish.loading.count > 0;
    if (wish.stride && wish.lines) kernel_fail(KERNEL_USAGE, "--stride and --lines: give one of them");
    if (in_order && loaded) kernel_fail(KERNEL_USAGE, "--load-cpus goes with the random chase: leave out --stride and --lines");
    if (in_order && wish.chunk) kernel_fail(KERNEL_USAGE, "--chunk goes with the random chase: leave out --stride and --lines");
    if (wish.rated && !loaded) kernel_fail(KERNEL_USAGE, "--load-rate needs --load-cpus");
    if (wish.chunk && wish.chunk < 2 * wish.line) kernel_fail(KERNEL_USAGE, "--chunk %zu: less than two lines", wish.chunk);
}

static void climb(void) {
    for (size_t octave = 4096; octave <= wish.bytes; octave *= 2) {
        wish.size[wish.sizes++] = octave;
        if (octave + octave / 2 <= wish.bytes) wish.size[wish.sizes++] = octave + octave / 2;
    }
    if (wish.sizes == 0) kernel_fail(KERNEL_USAGE, "--bytes %zu: the ladder begins at 4KiB", wish.bytes);
}

/* Returns the largest. */
static size_t check_sizes(void) {
    size_t largest = 0;
    if (wish.ladder) climb();
    else if (wish.sizes == 0) wish.size[wish.sizes++] = wish.bytes;
    for (int i = 0; i < wish.sizes; i++) {
        size_t size = wish.size[i];
        if (size < 2 * wish.line) kernel_fail(KERNEL_USAGE, "%zu bytes are less than two lines of %zu", size, wish.line);
        if (size / wish.line > UINT32_MAX) kernel_fail(KERNEL_USAGE, "%zu bytes are too many lines: raise --line", size);
        if (size > largest) largest = size;
    }
    return largest;
}

/* The chasing CPU, then the loading ones. */
static struct cpu_list check_cpus(struct common *common) {
    struct cpu_list all = {malloc(((size_t)wish.loading.count + 1) * sizeof(int)), 1 + wish.loading.count};
    if (!all.cpu) kernel_fail(KERNEL_CANNOT, "out of memory");
    common->cpus.count = 1;
    all.cpu[0] = common->cpus.cpu[0];
    for (int i = 0; i < wish.loading.count; i++) {
        all.cpu[i + 1] = wish.loading.cpu[i];
        if (all.cpu[i + 1] == all.cpu[0])
            kernel_fail(KERNEL_USAGE, "--load-cpus: CPU %d is the one that chases; name others", all.cpu[0]);
    }
    return all;
}

static struct loader *check_loaders(const struct common *common) {
    size_t count = (size_t)wish.loading.count, piece = STREAMS * BLOCK, least = (size_t)64 << 20;
    if (count == 0) return NULL;
    if (wish.load_bytes == 0) wish.load_bytes = wish.bytes / count > least ? wish.bytes / count : least;
    if (wish.load_bytes < piece) kernel_fail(KERNEL_USAGE, "--load-bytes %zu: at least %zu are needed", wish.load_bytes, piece);
    wish.load_bytes -= wish.load_bytes % piece;
    return take_loaders(common, count, wish.load_bytes, wish.written);
}

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
    if (probe->at->place != end) kernel_fail(KERNEL_WRONG, "the walk did not end on the line where it should");
    return took;
}

static double timed(struct probe *probe) { return wish.lines ? timed_lines(&probe->chain, probe->loads) : timed_walk(probe); }

/* So many loads that they come out even. */
static size_t even(const struct probe *probe, double loads) {
    size_t unit = wish.lines ? probe->chain.lines : UNROLL;
    return loads < (double)unit ? unit : (size_t)(loads / (double)unit) * unit;
}

/* Until the caches hold what they can and the clock is up; then it knows how many loads a repeat takes. The quicker of two
 * long walks says so: another program may have run meanwhile. */
static void warm_up(struct probe *probe) {
    double began = now(), each = INFINITY;
    probe->loads = even(probe, 1024.0);
    for (size_t done = 0, rounds = 0; rounds < 2 || (done < probe->chain.lines && now() - began < 2.0 * wish.seconds);) {
        double took = timed(probe);
        done += probe->loads;
        if (took >= 0.25 * wish.seconds) {
            each = fmin(each, took / (double)probe->loads);
            rounds++;
        } else probe->loads *= 2;
    }
    probe->loads = even(probe, wish.seconds / each);
}

/* ---- one size, one rate ---- */

static void measure(struct probe *probe) {
    int loading = wish.loading.count;
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
    double *cpus = malloc((size_t)wish.loading.count * sizeof *cpus);
    if (!cpus) kernel_fail(KERNEL_CANNOT, "out of memory");
    for (int i = 0; i < wish.loading.count; i++) cpus[i] = wish.loading.cpu[i];
    line_numbers("load_cpus", cpus, wish.loading.count);
    line_text("load_kind", wish.kind);
    line_whole("load_bytes", (long long)wish.load_bytes);
    if (isfinite(probe->rate)) line_number("load_rate_asked", probe->rate);
    line_number("load_rate", probe->load_rate);
    free(cpus);
}

static void print_result(const struct common *common, const struct probe *probe) {
    size_t bytes = probe->chain.lines * probe->chain.line;
    const char *alone = wish.stride ? "stride" : wish.lines ? "lines" : "chase";
    line_begin(&KERNEL, common, wish.loading.count ? "chase-loaded" : alone, "seconds");
    line_whole("bytes", (long long)bytes);
    line_whole("line", (long long)wish.line);
    if (wish.chunk) line_whole("chunk", (long long)wish.chunk);
    line_whole("loads", (long long)probe->loads);
    if (wish.loading.count) print_load(probe);
    line_numbers("values", probe->values, probe->repeats);
    line_numbers("seconds", probe->seconds, probe->repeats);
    line_pages(probe->chain.memory, bytes);
    line_page_kind(probe->chain.memory, bytes);
    line_end();
}

static void run(const struct common *common, struct team *team, struct probe *probe, double rate) {
    probe->rate = rate;
    atomic_store(&over, false);
    for (int i = 0; i < wish.loading.count; i++) atomic_store(&probe->loaders[i].bytes, 0);
    team_run(team, work, probe);
    for (int i = 0; i < wish.loading.count; i++)
        if (probe->loaders[i].wrong)
            kernel_fail(KERNEL_WRONG, "CPU %d did not read or write what it should", wish.loading.cpu[i]);
    print_result(common, probe);
}

static void run_size(const struct common *common, struct team *team, struct probe *probe, size_t bytes) {
    probe->chain.lines = bytes / wish.line;
    if (wish.lines) fill_lines(&probe->chain);
    else {
        link_lines(&probe->chain);
        check_chain(&probe->chain);
    }
    probe->at = line_at(&probe->chain, 0);
    if (wish.steps) run(common, team, probe, 0.0);
    run(common, team, probe, wish.rate);
    double most = probe->load_rate;
    for (int step = STEPS - 1; wish.steps && step > 0; step--) run(common, team, probe, most * step / STEPS);
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
    probe.chain = (struct chain){memory, 0, wish.line, wish.chunk, wish.stride, 0.0};
    /* A small size, too, begins with a huge page where these are asked for. */
    if (common.pages == PAGES_HUGE) probe.chain.memory += (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    for (int i = 0; i < wish.sizes; i++) run_size(&common, team, &probe, wish.size[i]);
    team_end(team);
    memory_give(memory, room);
    give_loaders(probe.loaders, wish.loading.count);
    void *mine[] = {probe.values, probe.seconds, cpus.cpu, wish.loading.cpu, common.cpus.cpu};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) free(mine[i]);
    return KERNEL_GOOD;
}

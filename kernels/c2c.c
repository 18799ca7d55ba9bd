/* c2c: round trips between cores
 *
 * arguments: --pairs LIST, --rounds N, --limit S
 * parts: machine
 *
 *   variant    unit     arrays  read  written  flops  iteration
 *   ping-pong  seconds       0    16       16      0  CPU a writes a line, CPU b sees it and writes the next number, a sees that
 *
 * How long a cache line takes from one CPU to another and back; half of that is what others print as core-to-core latency.
 * One result a pair, cpus [a, b]. Loads and stores (acquire, release), no locked instructions. Every repeat has another line
 * of the same page, so that the spread also holds what the line's own home in the cache makes; the page was first touched by
 * a, or lies on --node.
 * Checked: both see every number in order, and b has answered as often as a has asked.
 * Rounds adapt: all pairs together are to take about 20 s, a repeat 0.2 to 10 ms of it (128 CPUs: 8128 pairs, 0.4 ms and some
 * thousand rounds a repeat); --rounds sets a number. A pair that takes longer than --limit ends with the repeats that it has
 * (cut_short), or with status 3 where it has none: a CPU that something else holds does not stop the rest for ever.
 * Fields of its own: rounds (of a repeat), cut_short.
 * It cannot tell where the line travelled; CPUs of one core, of one cache, of one socket differ by the figures alone.
 */
#include "common/kernel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_LISTED = 65536, APART = 128 /* adjacent lines are fetched together */, PATIENCE = 1024 };
static const uint64_t STOP = UINT64_MAX;

static const struct variant VARIANTS[] = {
    {"ping-pong", "seconds", 0, 16, 16, 0, "CPU a writes a line, CPU b sees it and writes the next number, a sees that"},
    {.name = NULL},
};

struct pair {
    int a, b;
};

static struct {
    struct pair *pair; /* NULL: all */
    int pairs, rounds;
    double limit;
} options = {.limit = 2.0};

static int one_cpu(const char **text) {
    char *rest;
    if (**text < '0' || **text > '9') return -1;
    long number = strtol(*text, &rest, 10);
    *text = rest;
    return number < MOST_CPUS ? (int)number : -1;
}

static const char *take_pairs(const char *text, void *into) {
    static const char *const wanted = "all, or pairs of different CPUs such as 0-1,0-2";
    (void)into;
    free(options.pair);
    options.pair = NULL;
    options.pairs = 0;
    if (strcmp(text, "all") == 0) return NULL;
    options.pair = malloc(MOST_LISTED * sizeof *options.pair);
    if (!options.pair) kernel_fail(KERNEL_CANNOT, "out of memory");
    for (;; text++) {
        struct pair *next = &options.pair[options.pairs];
        if (options.pairs++ == MOST_LISTED || (next->a = one_cpu(&text)) < 0 || *text++ != '-') return wanted;
        if ((next->b = one_cpu(&text)) < 0 || next->a == next->b) return wanted;
        if (*text == '\0') return NULL;
        if (*text != ',') return wanted;
    }
}

static const struct argument ARGUMENTS[] = {
    {"pairs", "LIST", "pairs of CPUs such as 0-1,0-2, or all pairs of --cpus (default: all)", take_pairs, NULL},
    {"rounds", "N", "round trips per repeat (default: as many as fit into 20 s for all pairs)", take_count, &options.rounds},
    {"limit", "S", "give up on a pair after this many seconds (default 2)", take_seconds, &options.limit},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"c2c", "round trips between cores", VARIANTS, ARGUMENTS, 5};

static void all_pairs(const struct cpu_list *cpus) {
    int count = cpus->count;
    if (count < 2) kernel_fail(KERNEL_CANNOT, "two CPUs are needed, but only %d may be used", count);
    if (count > 2048) kernel_fail(KERNEL_USAGE, "%d CPUs make too many pairs: give fewer --cpus, or --pairs", count);
    options.pair = malloc((size_t)count * (size_t)(count - 1) / 2 * sizeof *options.pair);
    if (!options.pair) kernel_fail(KERNEL_CANNOT, "out of memory");
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) options.pair[options.pairs++] = (struct pair){cpus->cpu[i], cpus->cpu[j]};
}

/* ---- ping-pong ---- */

struct exchange {
    struct pair pair;
    char *memory; /* a line for the warm-up and one for every repeat */
    int lines, repeats, done;
    double deadline, slot; /* seconds of a repeat */
    uint64_t rounds, pings, pongs;
    double *values, *seconds;
    bool wrong_a, wrong_b;
};

static _Atomic uint64_t *line_of(const struct exchange *exchange, int line) {
    return (_Atomic uint64_t *)(void *)(exchange->memory + (size_t)line * APART);
}

/* Waits until the other has written: what it wrote, or STOP when the time is up. No pause instruction: it would be measured.
 * Yields after a while, as the other may be waiting for this very CPU. */
static uint64_t changed(_Atomic uint64_t *line, uint64_t from, double deadline) {
    for (int spins = 0;; spins++) {
        uint64_t seen = atomic_load_explicit(line, memory_order_acquire);
        if (seen != from) return seen;
        if (spins < PATIENCE) continue;
        if (now() > deadline) return STOP;
        sched_yield();
        spins = 0;
    }
}

/* CPU b. Even numbers are its own, the odd ones a's; STOP ends a line. */
static void pong(struct exchange *exchange) {
    for (int i = 0; i < exchange->lines; i++) {
        _Atomic uint64_t *line = line_of(exchange, i);
        uint64_t own = 0, seen;
        while ((seen = changed(line, own, exchange->deadline + 1.0)) != STOP) {
            exchange->wrong_b |= seen != own + 1;
            own = seen + 1;
#ifdef BREAK_RESULT
            if (own == 64) own += 2;
#endif
            exchange->pongs++;
            atomic_store_explicit(line, own, memory_order_release);
        }
    }
}

/* CPU a. False when the time is up. */
static bool ping(struct exchange *exchange, _Atomic uint64_t *line, uint64_t *own, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t next = *own + 1;
        atomic_store_explicit(line, next, memory_order_release);
        exchange->pings++;
        uint64_t seen = changed(line, next, exchange->deadline);
        if (seen == STOP) return false;
        exchange->wrong_a |= seen != next + 1;
        *own = seen;
        if (i % PATIENCE == PATIENCE - 1 && now() > exchange->deadline) return false;
    }
    return true;
}

/* Finds how many rounds a repeat takes, while clocks rise and the other CPU wakes. */
static bool warm_up(struct exchange *exchange) {
    uint64_t own = 0, rounds = 64;
    double took = 0.0;
    const double slot = exchange->slot;
    for (double began = now(); now() - began < slot || took < slot / 4; rounds *= took < slot / 4 ? 2 : 1) {
        double start = now();
        if (!ping(exchange, line_of(exchange, 0), &own, rounds)) return false;
        took = now() - start;
        exchange->rounds = (uint64_t)((double)rounds * slot / took) + 1;
        if (options.rounds) break;
    }
    if (options.rounds) exchange->rounds = (uint64_t)options.rounds;
    atomic_store_explicit(line_of(exchange, 0), STOP, memory_order_release);
    return true;
}

static void measure(struct exchange *exchange) {
    bool going = warm_up(exchange);
    for (int i = 0; going && i < exchange->repeats; i++) {
        _Atomic uint64_t *line = line_of(exchange, i + 1);
        uint64_t own = 0;
        double start = now();
        going = ping(exchange, line, &own, exchange->rounds);
        double took = now() - start;
        if (!going) break;
        exchange->seconds[i] = took;
        exchange->values[i] = took / (double)exchange->rounds;
        exchange->done++;
        atomic_store_explicit(line, STOP, memory_order_release);
    }
    for (int i = 0; !going && i < exchange->lines; i++) atomic_store_explicit(line_of(exchange, i), STOP, memory_order_release);
}

static atomic_int there; /* CPU b is */

static void *second_cpu(void *data) {
    struct exchange *exchange = data;
    pin(exchange->pair.b);
    atomic_store(&there, 1);
    pong(exchange);
    return NULL;
}

/* ---- one pair after the other ---- */

static void print_result(const struct common *common, const struct exchange *exchange, size_t bytes) {
    int cpus[] = {exchange->pair.a, exchange->pair.b};
    struct common mine = *common;
    mine.cpus = (struct cpu_list){cpus, 2};
    line_begin(&KERNEL, &mine, "ping-pong", "seconds");
    line_whole("rounds", (long long)exchange->rounds);
    if (exchange->done < exchange->repeats) line_flag("cut_short", true);
    line_numbers("values", exchange->values, exchange->done);
    line_numbers("seconds", exchange->seconds, exchange->done);
    line_pages(exchange->memory, bytes);
    line_end();
}

static void check(const struct exchange *exchange) {
    int a = exchange->pair.a, b = exchange->pair.b;
    bool even = exchange->done < exchange->repeats || exchange->pings == exchange->pongs;
    if (exchange->wrong_a || exchange->wrong_b || !even)
        kernel_fail(KERNEL_WRONG, "CPUs %d and %d did not see each other's numbers in order", a, b);
    if (exchange->done == 0)
        kernel_fail(KERNEL_CANNOT, "CPUs %d and %d completed no repeat in %g s: busy CPUs, or too many --rounds", a, b, options.limit);
}

static void await(const struct exchange *exchange) {
    while (!atomic_load(&there)) {
        if (now() > exchange->deadline)
            kernel_fail(KERNEL_CANNOT, "CPU %d did not start in %g s: something else occupies it", exchange->pair.b, options.limit);
        sched_yield();
    }
}

/* CPU b stops by itself one second after the limit, if it runs at all. */
static void leave(const struct exchange *exchange, pthread_t thread) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)options.limit + 3;
    if (pthread_timedjoin_np(thread, NULL, &end) != 0)
        kernel_fail(KERNEL_CANNOT, "CPU %d stopped: something else occupies it", exchange->pair.b);
}

static void run(const struct common *common, struct exchange *exchange) {
    size_t bytes = ((size_t)exchange->lines * APART + page_bytes() - 1) / page_bytes() * page_bytes();
    pthread_t thread;
    pin(exchange->pair.a);
    exchange->memory = memory_take(common, bytes);
    memset(exchange->memory, 0, bytes);
    exchange->deadline = now() + options.limit;
    exchange->done = 0;
    exchange->pings = exchange->pongs = 0;
    atomic_store(&there, 0);
    if (pthread_create(&thread, NULL, second_cpu, exchange) != 0) kernel_fail(KERNEL_CANNOT, "cannot start a thread");
    await(exchange);
    measure(exchange);
    leave(exchange, thread);
    check(exchange);
    print_result(common, exchange, bytes);
    memory_give(exchange->memory, bytes);
}

int main(int argc, char **argv) {
    struct common common;
    kernel_arguments(&KERNEL, argc, argv, &common);
    if (!options.pair) all_pairs(&common.cpus);
    const double all = 20.0, least = 2e-4, most = 1e-2;
    struct exchange exchange = {.repeats = common.repeats, .lines = common.repeats + 1};
    exchange.values = numbers_take(common.repeats);
    exchange.seconds = numbers_take(common.repeats);
    exchange.slot = all / options.pairs / exchange.lines;
    exchange.slot = exchange.slot < least ? least : exchange.slot > most ? most : exchange.slot;
    for (int i = 0; i < options.pairs; i++) {
        exchange.pair = options.pair[i];
        run(&common, &exchange);
    }
    free(exchange.values);
    free(exchange.seconds);
    free(options.pair);
    free(common.cpus.cpu);
    return KERNEL_GOOD;
}

/* mbw_mr: message rate
 *
 * arguments: --test LIST, --sizes LIST, --window N, --iterations N, --seconds S
 *
 *   variant   unit     arrays  read  written  flops  iteration
 *   mbw_mr    bytes/s       0     -        -      0  a window of non-blocking sends, answered by 4 bytes
 *   bibw      bytes/s       0     -        -      0  a window sent both ways at once, without a reply; both ways counted
 *   latency   seconds       0     -        -      0  half a ping-pong; the median of the pairs
 *   sendrecv  bytes/s       0     -        -      0  MPI_Sendrecv between the partners of each pair; both ways counted
 *
 * Rank i of the first half is paired with rank i + n/2. All pairs work at the same time. Definitions are those of the OSU
 * micro-benchmarks, so that figures compare.
 * With one pair, mbw_mr is osu_bw. Message rate is bytes/s divided by the size: `messages` (middle of the repeats).
 * Each payload is verified outside the timed part; a wrong byte ends all ranks with status 1.
 * Fields of its own: pairs, window, iterations, messages, per_pair (middle of the repeats of each pair, same unit), hosts,
 * across (pairs whose ranks are on different hosts), places (host and CPUs of each rank, asked of the kernel in each rank).
 * It cannot tell why a path is slow; that is what placements are compared for.
 */
#include "mbw_mr/arguments.h"
#include "common/mpi/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 7, ANSWER = 8, ANSWER_BYTES = 4 };

/* One rank's side of its pair. */
struct side {
    int rank, partner, pair, pairs;
    bool first; /* of the first half: it sends where only one side does */
    char *out, *in;
    MPI_Request sends[MOST_WINDOW], receives[MOST_WINDOW];
};

struct test {
    const struct variant *variant;
    void (*round)(struct side *side, int size);
    int directions; /* ways in which payload goes; 0: a latency */
};

static void post_sends(struct side *side, int size) {
    for (int i = 0; i < window; i++) MPI_Isend(side->out, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD, &side->sends[i]);
}

static void post_receives(struct side *side, int size) {
    for (int i = 0; i < window; i++) MPI_Irecv(side->in, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD, &side->receives[i]);
}

static void send_window(struct side *side, int size) {
    char answer[ANSWER_BYTES] = {0};
    if (side->first) {
        post_sends(side, size);
        MPI_Waitall(window, side->sends, MPI_STATUSES_IGNORE);
        MPI_Recv(answer, ANSWER_BYTES, MPI_CHAR, side->partner, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    post_receives(side, size);
    MPI_Waitall(window, side->receives, MPI_STATUSES_IGNORE);
    MPI_Send(answer, ANSWER_BYTES, MPI_CHAR, side->partner, ANSWER, MPI_COMM_WORLD);
}

/* No answer: what a rank receives tells it how far the other one is. */
static void send_both_ways(struct side *side, int size) {
    post_receives(side, size);
    post_sends(side, size);
    MPI_Waitall(window, side->sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(window, side->receives, MPI_STATUSES_IGNORE);
}

static void ping_pong(struct side *side, int size) {
    if (side->first) MPI_Send(side->out, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD);
    MPI_Recv(side->in, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!side->first) MPI_Send(side->out, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD);
}

static void exchange(struct side *side, int size) {
    MPI_Sendrecv(side->out, size, MPI_CHAR, side->partner, TAG, side->in, size, MPI_CHAR, side->partner, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static const struct test TESTS[] = {
    {&VARIANTS[0], send_window, 1},
    {&VARIANTS[1], send_both_ways, 2},
    {&VARIANTS[2], ping_pong, 0},
    {&VARIANTS[3], exchange, 2},
};

static bool windowed(const struct test *test) { return test->round == send_window || test->round == send_both_ways; }

/* ---- what arrives is what was sent ---- */

static unsigned char expected(int sender, size_t i) { return (unsigned char)((i * 167u + (size_t)sender * 31u + (i >> 8) * 7u) & 255u); }

static void verify(struct side *side, const struct test *test, size_t size) {
    bool receives = !side->first || test->round != send_window;
    for (size_t i = 0; i < size; i++) side->out[i] = (char)expected(side->rank, i);
    memset(side->in, 0xA5, size);
    test->round(side, (int)size);
#ifdef BREAK_RESULT
    side->in[size / 2] ^= 1; /* for the test that a wrong result is refused */
#endif
    for (size_t i = 0; receives && i < size; i++)
        if ((unsigned char)side->in[i] != expected(side->partner, i))
            ranks_fail(KERNEL_WRONG, "mbw_mr: %s of %zu bytes: rank %d got a wrong byte from rank %d at %zu", test->variant->name, size,
                       side->rank, side->partner, i);
}

/* ---- time ---- */

static double timed(struct side *side, const struct test *test, int size, int count) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < count; i++) test->round(side, size);
    return MPI_Wtime() - begun;
}

/* How many rounds fill the least time on the fastest pair; the same on all ranks. */
static int rounds_for(struct side *side, const struct test *test, int size) {
    if (iterations) {
        (void)timed(side, test, size, iterations / 10 + 1); /* warm-up */
        return iterations;
    }
    for (int count = 1;; count *= 4) {
        double own = timed(side, test, size, count), again = timed(side, test, size, count), fastest;
        own = own < again ? own : again; /* one interruption must not make the count small */
        MPI_Allreduce(&own, &fastest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        if (fastest < least / 4 && count < 1 << 28) continue;
        double wanted = count * least / fastest;
        return wanted < 1.0 ? 1 : wanted > 1e9 ? 1000000000 : (int)wanted;
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct seen {
    double *all;      /* value of each repeat over all pairs */
    double *per_pair; /* [repeat][pair] */
};

/* One repeat: as OSU, all bytes by the mean time of the pairs; of a latency the middle pair. */
static void repeat(struct side *side, const struct test *test, size_t size, int count, double *value, double *of_pairs) {
    double own = timed(side, test, (int)size, count), *times = NULL, sum = 0.0;
    int ranks = 2 * side->pairs;
    if (side->rank == 0 && !(times = malloc((size_t)ranks * sizeof *times))) ranks_fail(KERNEL_CANNOT, "mbw_mr: out of memory");
    MPI_Gather(&own, 1, MPI_DOUBLE, times, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (side->rank != 0) return;
    double bytes = (double)size * test->directions * count * (windowed(test) ? window : 1);
    for (int i = 0; i < side->pairs; i++) {
        sum += times[i];
        of_pairs[i] = test->directions ? bytes / times[i] : times[i] / (2.0 * count);
    }
    memcpy(times, of_pairs, (size_t)side->pairs * sizeof *times);
    *value = test->directions ? bytes * side->pairs / (sum / side->pairs) : middle(times, side->pairs);
    free(times);
}

static int pairs_across(const struct ranks *ranks) {
    int own[2] = {ranks->host, 0}, *all = malloc((size_t)ranks->size * sizeof *all), across = 0;
    if (!all) ranks_fail(KERNEL_CANNOT, "mbw_mr: out of memory");
    MPI_Allgather(own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks->size / 2; i++) across += all[i] != all[i + ranks->size / 2];
    free(all);
    return across;
}

static void print(const struct ranks *ranks, const struct common *common, const struct side *side, const struct test *test,
                  size_t size, int count, struct seen *seen) {
    int across = pairs_across(ranks), repeats = common->repeats, pairs = side->pairs;
    if (ranks->rank == 0) {
        double *own = malloc((size_t)repeats * sizeof *own), *of_pair = malloc((size_t)pairs * sizeof *of_pair);
        if (!own || !of_pair) ranks_fail(KERNEL_CANNOT, "mbw_mr: out of memory");
        line_begin(&KERNEL, common, test->variant->name, test->variant->unit);
        line_whole("bytes", (long long)size);
        line_numbers("values", seen->all, repeats);
        for (int p = 0; p < pairs; p++) {
            for (int r = 0; r < repeats; r++) own[r] = seen->per_pair[r * pairs + p];
            of_pair[p] = middle(own, repeats);
        }
        line_numbers("per_pair", of_pair, pairs);
        memcpy(own, seen->all, (size_t)repeats * sizeof *own);
        if (test->directions) line_number("messages", middle(own, repeats) / (double)size);
        line_whole("pairs", pairs);
        line_whole("window", windowed(test) ? window : 1);
        line_whole("iterations", count);
        line_whole("hosts", ranks->hosts);
        line_whole("across", across);
        free(of_pair);
        free(own);
    }
    line_places(ranks);
    if (ranks->rank == 0) line_end();
}

static void measure(const struct ranks *ranks, const struct common *common, struct side *side, const struct test *test, size_t size) {
    struct seen seen = {malloc((size_t)common->repeats * sizeof(double)),
                        malloc((size_t)common->repeats * (size_t)side->pairs * sizeof(double))};
    if (!seen.all || !seen.per_pair) ranks_fail(KERNEL_CANNOT, "mbw_mr: out of memory");
    int count = rounds_for(side, test, (int)size);
    for (int r = 0; r < common->repeats; r++) repeat(side, test, size, count, &seen.all[r], seen.per_pair + r * side->pairs);
    verify(side, test, size);
    print(ranks, common, side, test, size, count, &seen);
    free(seen.per_pair);
    free(seen.all);
}

/* ---- the run ---- */

static const struct test *find_test(const char *name) {
    for (size_t i = 0; i < sizeof TESTS / sizeof *TESTS; i++)
        if (strcmp(TESTS[i].variant->name, name) == 0) return &TESTS[i];
    kernel_fail(KERNEL_USAGE, "--test %s: mbw_mr, bibw, latency or sendrecv is expected", name);
}

static int chosen_tests(const struct test **chosen) {
    static char copy[256];
    char *rest = copy, *piece;
    int count = 0;
    if (strlen(tests) >= sizeof copy) kernel_fail(KERNEL_USAGE, "--test %.40s...: mbw_mr, bibw, latency or sendrecv is expected", tests);
    strcpy(copy, tests);
    while ((piece = strsep(&rest, ",")) != NULL && count < 16) chosen[count++] = find_test(piece);
    return count;
}

static struct side take_side(const struct ranks *ranks, size_t most) {
    int half = ranks->size / 2;
    struct side side = {.rank = ranks->rank, .first = ranks->rank < half, .pairs = half};
    side.partner = side.first ? ranks->rank + half : ranks->rank - half;
    side.pair = side.first ? ranks->rank : side.partner;
    size_t room = (most + 4095) / 4096 * 4096;
    side.out = aligned_alloc(4096, room);
    side.in = aligned_alloc(4096, room);
    if (!side.out || !side.in) ranks_fail(KERNEL_CANNOT, "mbw_mr: no memory for messages of %zu bytes", most);
    memset(side.out, 'a', room);
    memset(side.in, 'b', room);
    return side;
}

int main(int argc, char **argv) {
    struct common common;
    const struct test *chosen[16];
    (void)take_sizes("1:4MiB", &sizes);
    struct ranks ranks = ranks_start(&KERNEL, argc, argv, &common);
    int count = chosen_tests(chosen);
    size_t most = 0;
    if (ranks.size < 2 || ranks.size % 2) kernel_fail(KERNEL_USAGE, "%d ranks: pairs need an even number of them", ranks.size);
    if (window > MOST_WINDOW) kernel_fail(KERNEL_USAGE, "--window %d: at most %d", window, MOST_WINDOW);
    for (int i = 0; i < sizes.count; i++) most = sizes.size[i] > most ? sizes.size[i] : most;
    struct side side = take_side(&ranks, most);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < sizes.count; i++) measure(&ranks, &common, &side, chosen[t], sizes.size[i]);
    free(side.out);
    free(side.in);
    MPI_Finalize();
    return KERNEL_GOOD;
}

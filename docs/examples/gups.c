/* gups: random updates of memory
 *
 * arguments: --bytes SIZE, --seconds S
 * parts: core numa socket machine
 *
 *   variant  unit       arrays  read  written  flops  iteration
 *   update   updates/s       1     8        8      0  random updates, table[random] ^= random in each thread's part of it
 *
 * Like HPCC's StarRandomAccess: how many words per second can be changed at random in a table too large for any cache.
 * Checked: repeating the same updates restores the table.
 * It cannot tell a TLB miss from a cache miss: compare --pages huge.
 */
#include "common/kernel.h"

#include <stdatomic.h>
#include <stdlib.h>

static const struct variant VARIANTS[] = {
    {"update", "updates/s", 1, 8, 8, 0, "random updates, table[random] ^= random in each thread's part of it"},
    {.name = NULL},
};

static size_t bytes = (size_t)1 << 30;
static double least = 0.1;

static const struct argument ARGUMENTS[] = {
    {"bytes", "SIZE", "the whole table (default: 1GiB)", take_bytes, &bytes},
    {"seconds", "S", "a repeat takes about so long (default: 0.1)", take_seconds, &least},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"gups", "random updates of memory", VARIANTS, ARGUMENTS, 5};

struct job {
    uint64_t *table;
    size_t words; /* of a thread: a power of two */
    long updates; /* of a thread in a repeat */
    atomic_size_t wrong;
};

static void fill(int thread, int threads, void *data) {
    struct job *job = data;
    (void)threads;
    for (size_t i = 0; i < job->words; i++) job->table[(size_t)thread * job->words + i] = i;
}

/* xorshift64, from the same start in every repeat. */
static void update(int thread, int threads, void *data) {
    struct job *job = data;
    uint64_t *own = job->table + (size_t)thread * job->words, random = 88172645463325252u + (uint64_t)thread;
    (void)threads;
    for (long i = 0; i < job->updates; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        own[random & (job->words - 1)] ^= random;
    }
}

static void check(int thread, int threads, void *data) {
    struct job *job = data;
    size_t wrong = 0;
    (void)threads;
    for (size_t i = 0; i < job->words; i++) wrong += job->table[(size_t)thread * job->words + i] != i;
    atomic_fetch_add(&job->wrong, wrong);
}

/* The seconds of the updates. The same ones again leave the table as it was. */
static double timed(struct team *team, struct job *job) {
    double seconds = team_run(team, update, job);
    (void)team_run(team, update, job);
    return seconds;
}

int main(int argc, char **argv) {
    struct common common;
    kernel_arguments(&KERNEL, argc, argv, &common);
    int threads = common.cpus.count;
    struct job job = {.words = 1024, .updates = 1024};
    while (2 * job.words * sizeof(uint64_t) * (size_t)threads <= bytes) job.words *= 2;
    bytes = job.words * sizeof(uint64_t) * (size_t)threads;
    job.table = memory_take(&common, bytes);
    struct team *team = team_start(&common.cpus);
    team_run(team, fill, &job);
    while (timed(team, &job) < least) job.updates *= 2; /* warms up, too */
    double *values = numbers_take(common.repeats), *seconds = numbers_take(common.repeats);
    for (int i = 0; i < common.repeats; i++) {
        seconds[i] = timed(team, &job);
        values[i] = (double)job.updates * threads / seconds[i];
    }
    team_run(team, check, &job);
    if (job.wrong) kernel_fail(KERNEL_WRONG, "%zu words are not what they should be", (size_t)job.wrong);
    line_begin(&KERNEL, &common, "update", "updates/s");
    line_whole("bytes", (long long)bytes);
    line_numbers("values", values, common.repeats);
    line_numbers("seconds", seconds, common.repeats);
    line_pages(job.table, bytes);
    line_page_kind(job.table, bytes);
    line_end();
    team_end(team);
    memory_give(job.table, bytes);
    free(values);
    free(seconds);
    return KERNEL_GOOD;
}

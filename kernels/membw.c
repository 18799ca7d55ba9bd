/* membw: memory bandwidth
 *
 * arguments: --pattern LIST, --bytes SIZE, --seconds S, --trial-seconds S, --streams N
 * parts: core l3 numa socket machine
 *
 *   variant      unit     arrays  read  written  flops  iteration
 *   load         bytes/s       1     8        0      1  sum += a
 *   load-nt      bytes/s       1     8        0      1  sum += a, non-temporal loads
 *   store        bytes/s       1     0        8      0  a = s
 *   store-nt     bytes/s       1     0        8      0  a = s, non-temporal stores
 *   copy         bytes/s       2     8        8      0  a = b
 *   copy-nt      bytes/s       2     8        8      0  a = b, non-temporal stores
 *   scale        bytes/s       2     8        8      1  a = s*b
 *   scale-nt     bytes/s       2     8        8      1  a = s*b, non-temporal stores
 *   add          bytes/s       3    16        8      1  a = b + c
 *   add-nt       bytes/s       3    16        8      1  a = b + c, non-temporal stores
 *   triad        bytes/s       3    16        8      2  a = b + s*c
 *   triad-nt     bytes/s       3    16        8      2  a = b + s*c, non-temporal stores
 *   update       bytes/s       1     8        8      1  a = s*a
 *   update-nt    bytes/s       1     8        8      1  a = s*a, non-temporal stores
 *   copy-memcpy  bytes/s       2     8        8      0  a = b, by the C library's memcpy
 *
 * Arrays a, b, c of doubles, all of one size; each thread has one part of each and touches it first. A pass goes once over
 * every part. Bytes are counted as STREAM counts them: each array read or written counts once, the read before a regular
 * store does not. NAME-nt uses the instructions that are there to store (or load) past the cache; copy-memcpy stores as the
 * C library likes.
 *
 * --bytes is the size of all arrays of the pattern that needs most of them, of those asked for; rounded down so that every
 * thread has an odd number of 4 KiB pages of each array. For DRAM let every single array be several times the last cache.
 *
 * One stream a thread keeps too few lines on their way. A thread therefore walks several streams of its part at once, with
 * or without prefetch hints; short trials find the shape that this CPU likes best for each pattern, and whether it likes the
 * widest vectors or the next narrower ones; --isa leaves that out.
 *
 * Own fields: shape (streams-place-hint-ahead, and the vectors where they are not the widest; --pattern NAME:SHAPE takes it
 * again without trials), streams, spacing (near: a page apart; far), prefetch (none; l1, l2, nta: what is read, with l1 also
 * what is written; w: what is written), prefetch_bytes ahead, trials, passes (in each repeat), counted_bytes (of a pass).
 * `bytes` is the pattern's working set, `seconds` the time of a pass.
 *
 * It cannot tell which level answered: sizes that fit a cache measure the cache. */
#include "membw/trials.h"

#include <stdlib.h>
#include <string.h>

/* As many passes as take the least time; warms up on the way. */
static long enough_passes(const struct pattern *pattern, const struct shape *shape, long *done) {
    for (long passes = 1;;) {
        double seconds = time_work(whole(pattern, shape, passes));
        *done += passes;
        if (seconds >= request.seconds) return passes;
        double more = seconds > 0.0 ? 1.1 * request.seconds / seconds : 16.0;
        passes = (long)((double)passes * (more < 16.0 ? more : 16.0)) + 1;
    }
}

static void check(const struct pattern *pattern, const struct shape *shape, long done) {
    if (pattern->operation == UPDATE && done % 2 == 0) (void)time_work(whole(pattern, shape, 1));
    team_run(bench.team, count_wrong, (void *)(uintptr_t)pattern);
    for (int i = 0; i < bench.threads; i++) {
        const struct seat *seat = &bench.seats[i];
        if (seat->wrong) kernel_fail(KERNEL_WRONG, "%s: thread %d made %zu wrong elements", name_of(pattern), i, seat->wrong);
        if (pattern->operation == LOAD && seat->sum != seat->expected * (double)done)
            kernel_fail(KERNEL_WRONG, "%s: thread %d summed %.17g, not %.17g", name_of(pattern), i, seat->sum, seat->expected * (double)done);
    }
}

static void print_shape(const struct pattern *pattern, const struct shape *shape, int trials) {
    char text[SHAPE_TEXT];
    if (pattern->how == LIBRARY) return;
    write_shape(shape, text);
    line_text("shape", text);
    line_whole("streams", shape->streams);
    line_text("spacing", shape->far ? "far" : "near");
    line_text("prefetch", hint_names[shape->hint]);
    line_whole("prefetch_bytes", shape->ahead);
    line_whole("trials", trials);
}

static void print_line(const struct pattern *pattern, const struct shape *shape, const double *values, const double *seconds, long passes) {
    size_t used = bench.array_bytes * (size_t)pattern->variant.arrays;
    line_begin(&kernel, &bench.common, name_of(pattern), "bytes/s");
    line_text("isa", pattern->how == LIBRARY ? "library" : set_of(shape)->name);
    line_whole("bytes", (long long)used);
    line_numbers("values", values, bench.common.repeats);
    line_numbers("seconds", seconds, bench.common.repeats);
    line_whole("passes", passes);
    line_whole("counted_bytes", (long long)bench.array_bytes * counted_arrays(pattern));
    line_pages(bench.array[0], used);
    line_page_kind(bench.array[0], used);
}

static void measure(struct entry *entry) {
    const struct pattern *pattern = entry->pattern;
    int trials = 0, repeats = bench.common.repeats;
    double *values = numbers_take(repeats), *seconds = numbers_take(repeats);
    if (entry->fixed && !fits(&entry->shape, bench.part)) kernel_fail(KERNEL_USAGE, "--pattern %s: its streams need more --bytes", name_of(pattern));
    team_run(bench.team, fill_target, (void *)(uintptr_t)pattern);
    if (!entry->fixed && pattern->how != LIBRARY) {
        entry->shape = best_shape(pattern, &trials);
        team_run(bench.team, fill_target, (void *)(uintptr_t)pattern);
    }
    long done = 0, passes = enough_passes(pattern, &entry->shape, &done);
    for (int i = 0; i < repeats; i++, done += passes) {
        seconds[i] = time_work(whole(pattern, &entry->shape, passes)) / (double)passes;
        values[i] = (double)bench.array_bytes * counted_arrays(pattern) / seconds[i];
    }
    check(pattern, &entry->shape, done);
    print_line(pattern, &entry->shape, values, seconds, passes);
    print_shape(pattern, &entry->shape, trials);
    line_end();
    free(values);
    free(seconds);
}

static bool has(const struct pattern *pattern) {
    bool single = strcmp(bench.set->name, "scalar") == 0;
    return !is_nt(pattern) || !single || (pattern->operation == LOAD ? SCALAR_LOAD_NT : SCALAR_STORE_NT);
}

/* Leaves out of all what the instructions lack; ends where such a pattern was asked for by its name. */
static void leave_out(void) {
    int kept = 0;
    for (int i = 0; i < request.count; i++) {
        const struct entry *entry = &request.entries[i];
        if (has(entry->pattern)) request.entries[kept++] = *entry;
        else if (entry->by_name) kernel_fail(KERNEL_CANNOT, "%s: scalar code cannot go past the cache here", name_of(entry->pattern));
    }
    request.count = kept;
}

static void choose_set(void) {
    const char *names[SETS + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < SETS; i++)
        if (set_fits(&sets[i])) names[count++] = sets[i].name;
    const char *name = kernel_isa(&bench.common, names);
    for (int i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, name) == 0) bench.set = &sets[i];
}

int main(int argc, char **argv) {
    read_arguments(argc, argv, &bench.common);
    choose_set();
    leave_out();
    bench.threads = bench.common.cpus.count;
    take_memory();
    bench.seats = aligned_alloc(128, (size_t)bench.threads * sizeof *bench.seats);
    if (!bench.seats) kernel_fail(KERNEL_CANNOT, "out of memory");
    bench.team = team_start(&bench.common.cpus);
    team_run(bench.team, fill_sources, NULL);
    for (int i = 0; i < request.count; i++) measure(&request.entries[i]);
    team_end(bench.team);
    free(bench.seats);
    memory_give(bench.memory, bench.mapped);
    free(bench.common.cpus.cpu);
    return KERNEL_GOOD;
}

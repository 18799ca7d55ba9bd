/* What memlat --lines does: it loads a double of each line, as likwid-bench's clload does, and adds them up.
 *
 * A double, since CPUs may load more whole numbers at once than doubles (Zen 4: three and two in a clock). Eight sums, since
 * an addition takes three or four clocks; each is added to by the load itself, as additions that wait apart from their load
 * fill the queues before the loads do: in memory 1.1 times the time. */
#ifndef ADVISOR_MEMLAT_LINES_H
#define ADVISOR_MEMLAT_LINES_H

#include "chain.h"

/* Keeps a sum in a register of its own, so that compilers neither gather loads into vectors nor join sums; volatile, so that
 * they make every pass: a function without effect is called once for many. */
#if defined(__x86_64__)
#define ALONE(sum) __asm__ volatile("" : "+x"(sum))
#elif defined(__aarch64__)
#define ALONE(sum) __asm__ volatile("" : "+w"(sum))
#else
#define ALONE(sum) __asm__ volatile("" : "+m"(sum))
#endif

/* Whole and small: sums are exact. From 1 on, and after a prime number of lines again: a line that is left out shows. */
static double value_of_line(size_t number) { return 1.0 + (double)(number % 1021); }

static void fill_lines(struct chain *chain) {
    chain->sum = 0.0;
    for (size_t i = 0; i < chain->lines; i++) {
        *(double *)(void *)(chain->memory + i * chain->line) = value_of_line(i);
        chain->sum += value_of_line(i);
    }
}

__attribute__((always_inline)) static inline double with_line(double sum, const char *at) {
    sum += *(const double *)(const void *)at;
    ALONE(sum);
    return sum;
}

__attribute__((always_inline)) static inline double sum_apart(const char *at, size_t lines, size_t line) {
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0, e = 0.0, f = 0.0, g = 0.0, h = 0.0;
    for (; lines >= 8; lines -= 8, at += 8 * line) {
        a = with_line(a, at);
        b = with_line(b, at + line);
        c = with_line(c, at + 2 * line);
        d = with_line(d, at + 3 * line);
        e = with_line(e, at + 4 * line);
        f = with_line(f, at + 5 * line);
        g = with_line(g, at + 6 * line);
        h = with_line(h, at + 7 * line);
    }
    for (; lines > 0; lines--, at += line) a = with_line(a, at);
    return a + b + c + d + e + f + g + h + (BREAK_RESULT == 3);
}

/* The usual line is a constant: in the first-level cache the sums of addresses would be measured. */
__attribute__((noinline)) static double sum_lines(const char *at, size_t lines, size_t line) {
    return line == 64 ? sum_apart(at, lines, 64) : sum_apart(at, lines, line);
}

/* Whole passes; the seconds that they took. */
static double timed_lines(const struct chain *chain, size_t loads) {
    size_t passes = loads / chain->lines, wrong = 0;
    double start = now();
    for (size_t i = 0; i < passes; i++) wrong += sum_lines(chain->memory, chain->lines, chain->line) != chain->sum;
    double took = now() - start;
    if (wrong) kernel_fail(KERNEL_WRONG, "the sum over the lines is wrong");
    return took;
}

#endif

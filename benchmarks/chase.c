/* The reference that memlat is compared with: a plain pointer chase and nothing else. chase BYTES SECONDS random|order|lines
 * prints the nanoseconds of a load. One pointer every 64 bytes; the random cycle is Sattolo's, in place. lines chases nothing:
 * it loads a double every 64 bytes, four in a turn as likwid's clload, and does nothing with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *follow(void *p, long loads) {
    while (loads-- > 0) p = *(void **)p;
    return p;
}

static void *load_lines(void *base, long lines, long loads) {
    for (long done = 0; done < loads; done += lines)
        for (volatile double *at = base, *end = at + 8 * lines; at < end; at += 32) (void)at[0], (void)at[8], (void)at[16], (void)at[24];
    return base;
}

int main(int argc, char **argv) {
    long lines = argc == 4 ? atol(argv[1]) / 64 : 0;
    char *base = lines > 1 ? aligned_alloc(4096, ((size_t)lines * 64 + 4095) / 4096 * 4096) : NULL;
    if (!base) return 2;
    int shuffled = strcmp(argv[3], "random") == 0, apart = strcmp(argv[3], "lines") == 0;
    for (long i = 0; i < lines; i++) *(void **)(base + 64 * i) = base + 64 * (shuffled ? i : (i + 1) % lines);
    srand(7);
    for (long i = lines - 1; shuffled && i > 0; i--) {
        void **here = (void **)(base + 64 * i), **there = (void **)(base + 64 * ((((long)rand() << 31) + rand()) % i)), *kept = *here;
        *here = *there;
        *there = kept;
    }
    void *p = follow(base, lines); /* a whole walk first: it must end where it began */
    if (p != base) return 1;
    long loads = apart ? lines : 1000;
    double took = 0.0, start = 0.0;
    for (; took < atof(argv[2]) / 2; loads *= 2) {
        start = clock_now();
        p = apart ? load_lines(base, lines, loads) : follow(p, loads);
        took = clock_now() - start;
    }
    start = clock_now();
    p = apart ? load_lines(base, lines, loads) : follow(p, loads);
    printf("%.6g\n", (clock_now() - start) / (double)loads * 1e9);
    return p == NULL;
}

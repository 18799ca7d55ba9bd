/* The reference that memlat is compared with: a plain pointer chase and nothing else. chase BYTES SECONDS random|order
 * prints the nanoseconds of a load. One pointer every 64 bytes; the random cycle is Sattolo's, in place. */
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

int main(int argc, char **argv) {
    long lines = argc == 4 ? atol(argv[1]) / 64 : 0;
    char *base = lines > 1 ? aligned_alloc(4096, ((size_t)lines * 64 + 4095) / 4096 * 4096) : NULL;
    if (!base) return 2;
    int shuffled = strcmp(argv[3], "random") == 0;
    for (long i = 0; i < lines; i++) *(void **)(base + 64 * i) = base + 64 * (shuffled ? i : (i + 1) % lines);
    srand(7);
    for (long i = lines - 1; shuffled && i > 0; i--) {
        void **here = (void **)(base + 64 * i), **there = (void **)(base + 64 * ((((long)rand() << 31) + rand()) % i)), *kept = *here;
        *here = *there;
        *there = kept;
    }
    void *p = follow(base, lines); /* a whole walk first: it must end where it began */
    if (p != base) return 1;
    long loads = 1000;
    double took = 0.0;
    for (; took < atof(argv[2]) / 2; loads *= 2) {
        double start = clock_now();
        p = follow(p, loads);
        took = clock_now() - start;
    }
    double start = clock_now();
    p = follow(p, loads);
    printf("%.6g\n", (clock_now() - start) / (double)loads * 1e9);
    return p == NULL;
}

/* kernels/mbw_mr.c and messages.c in the same ranks, by turns of some milliseconds, A B B A: what the machine does meanwhile, it
 * does to both.
 *
 * network TEST TURNS SECONDS SIZE...: for each turn prints SIZE OURS PLAIN, in seconds or bytes/s, TEST being OSU's name for
 * it. Ours is the kernel itself: its pairs, its rounds, its clock and its arithmetic. Both make the same number of rounds in a
 * turn, so many as take SECONDS, and all turns together make at least as many as OSU. */
#define main mbw_mr_main /* the kernel, without its main */
#include "mbw_mr.c"
#undef main

#include "messages.h"

static struct side side;

static double our_turn(const struct test *test, int size, int rounds) {
    double value = 0.0, *of_pairs = malloc((size_t)side.pairs * sizeof *of_pairs);
    if (!of_pairs) ranks_fail(KERNEL_CANNOT, "network: out of memory");
    repeat(&side, test, (size_t)size, rounds, &value, of_pairs);
    free(of_pairs);
    return value;
}

static void take_turns(const char *name, int turns, int size) {
    const struct test *test = find_test(strcmp(name, "bw") == 0 ? "mbw_mr" : name);
    int rounds = rounds_for(&side, test, size), few = plain_least(name, size) / turns + 1;
    if (rounds < few) rounds = few;
    (void)plain_turn(name, size, plain_least(name, size) / 10); /* warm-up; the kernel had its own */
    for (int i = 0; i < turns; i++) {
        double first = i % 2 ? plain_turn(name, size, rounds) : our_turn(test, size, rounds);
        double second = i % 2 ? our_turn(test, size, rounds) : plain_turn(name, size, rounds);
        if (side.rank == 0) printf("%d %.9g %.9g\n", size, i % 2 ? second : first, i % 2 ? first : second);
    }
    verify(&side, test, (size_t)size);
}

int main(int argc, char **argv) {
    struct ranks ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
    if (argc < 5 || ranks.size % 2) ranks_fail(KERNEL_USAGE, "network TEST TURNS SECONDS SIZE..., on an even number of ranks");
    least = atof(argv[3]);
    side = take_side(&ranks, (size_t)4 << 20);
    plain_start();
    for (int i = 4; i < argc; i++) take_turns(argv[1], atoi(argv[2]), atoi(argv[i]));
    MPI_Finalize();
    return 0;
}

/* The comparison's plain side: what the OSU micro-benchmarks define, each as plain as can be, beside kernels/mbw_mr.c.
 *
 * Definitions (OSU 7.4): latency is half of a blocking ping-pong. bw is windows of 64 sends from one buffer into one buffer,
 * each window answered by 4 bytes. bibw is windows of 64 each way, without an answer. All three are timed on rank 0, between
 * two ranks. mbw_mr is bw between all pairs (rank i, i + n/2) at once: all bytes by the mean time of the senders.
 * Buffers begin at a page; a barrier stands before the clock starts. */
#include "messages.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, LARGE = 8192, PAGE = 4096, ROOM = 4 << 20 };

static int rank, ranks, partner;
static char *out, *in;
static MPI_Request sends[WINDOW], receives[WINDOW];

static void post_sends(int size) {
    for (int i = 0; i < WINDOW; i++) MPI_Isend(out, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD, &sends[i]);
}

static void post_receives(int size) {
    for (int i = 0; i < WINDOW; i++) MPI_Irecv(in, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD, &receives[i]);
}

static void one_way(int size) {
    if (rank < ranks / 2) {
        post_sends(size);
        MPI_Waitall(WINDOW, sends, MPI_STATUSES_IGNORE);
        MPI_Recv(in, 4, MPI_CHAR, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        post_receives(size);
        MPI_Waitall(WINDOW, receives, MPI_STATUSES_IGNORE);
        MPI_Send(out, 4, MPI_CHAR, partner, 2, MPI_COMM_WORLD);
    }
}

static void both_ways(int size) {
    post_receives(size);
    post_sends(size);
    MPI_Waitall(WINDOW, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(WINDOW, receives, MPI_STATUSES_IGNORE);
}

static void there_and_back(int size) {
    if (rank == 0) {
        MPI_Send(out, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(in, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(out, size, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
    }
}

static const struct plain {
    const char *name;
    void (*round)(int size);
    int messages; /* of a round and a pair; 0: a latency */
    int small, large;
} PLAIN[] = {
    {"latency", there_and_back, 0, 10000, 1000},
    {"bw", one_way, WINDOW, 100, 20},
    {"bibw", both_ways, 2 * WINDOW, 100, 20},
    {"mbw_mr", one_way, WINDOW, 100, 20},
    {NULL, NULL, 0, 0, 0},
};

static const struct plain *find(const char *name) {
    const struct plain *test = PLAIN;
    while (test->name && strcmp(test->name, name) != 0) test++;
    if (!test->name) MPI_Abort(MPI_COMM_WORLD, 2);
    return test;
}

void plain_start(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    partner = rank < ranks / 2 ? rank + ranks / 2 : rank - ranks / 2;
    out = aligned_alloc(PAGE, ROOM);
    in = aligned_alloc(PAGE, ROOM);
    if (ranks % 2 || !out || !in) MPI_Abort(MPI_COMM_WORLD, 2);
    memset(out, 'a', ROOM);
    memset(in, 'b', ROOM);
}

int plain_least(const char *name, int size) { return size > LARGE ? find(name)->large : find(name)->small; }

double plain_turn(const char *name, int size, int rounds) {
    const struct plain *test = find(name);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < rounds; i++) test->round(size);
    double own = rank < ranks / 2 ? MPI_Wtime() - begun : 0.0, all = 0.0, pairs = ranks / 2;
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0) return 0.0;
    return test->messages ? (double)size * test->messages * rounds * pairs / (all / pairs) : all / pairs / rounds / 2;
}

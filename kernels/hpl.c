/* hpl: Linpack
 *
 * arguments: --n N, --nb NB, --p P, --q Q, --seed N
 *
 *   variant  unit    arrays  read  written  flops  iteration
 *   lu       flop/s       1     -        -      -  a system of N equations solved: 2/3 N^3 + 3/2 N^2 operations
 *
 * Solves a dense random system of equations, as HPL does, on the MPI and the BLAS of the site. Operations are counted as HPL
 * counts them, whatever is really done.
 * variant lu: right-looking LU with partial pivoting, 2D block-cyclic over P x Q ranks (numbered along rows), recursive
 * panels, one panel ahead of the update, panels sent along rows in a ring. The right-hand side is the matrix's last column.
 * Checked by HPL's residual |Ax-b| / (eps (|A||x|+|b|) N), in the maximum norm, below 16, with A made anew.
 * Fields of its own: n nb p q residual blas blas_core dgemm (flop/s of one rank's BLAS while all work), panel_seconds,
 * resident (most bytes that a rank really used), places. `bytes` is what each rank was to use, announced before it starts.
 * It cannot tell what a vendor's HPL reaches on the same machine; compare BLAS libraries with it, and nodes.
 */
#include "hpl/update.h"
#include "common/mpi/ranks.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct variant VARIANTS[] = {
    {"lu", "flop/s", 1, VARIES, VARIES, VARIES, "a system of N equations solved: 2/3 N^3 + 3/2 N^2 operations"},
    {.name = NULL},
};

static int order = 1000, block = 192, rows_wanted, columns_wanted;

static const struct argument ARGUMENTS[] = {
    {"n", "N", "equations (default 1000)", take_count, &order},
    {"nb", "NB", "columns of a panel (default 192)", take_count, &block},
    {"p", "P", "rows of ranks (default: the largest that gives P <= Q)", take_count, &rows_wanted},
    {"q", "Q", "columns of ranks", take_count, &columns_wanted},
    {"seed", "N", "seed of the random matrix", take_count, &seed},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"hpl", "Linpack", VARIANTS, ARGUMENTS, 1};

/* ---- back substitution ---- */

/* Solves U x = b from the last block up; x ends up whole on every rank. */
static void solve(double *x) {
    int n = matrix.n, nb = matrix.nb, home = column_owner(n), right = my_columns_before(n);
    double *sum = packed, *part = packed + nb;
    memset(known, 0, (size_t)matrix.rows * sizeof(double));
    if (grid.column == home)
        for (int i = 0; i < matrix.rows; i++) known[i] = *at(i, right);
    for (int first = (n - 1) / nb * nb; first >= 0; first -= nb) {
        int width = n - first < nb ? n - first : nb, before = my_rows_before(first), owner = column_owner(first);
        double *values = x + first;
        if (grid.row == row_owner(first)) {
            memcpy(part, known + before, (size_t)width * sizeof(double));
            MPI_Reduce(part, sum, width, MPI_DOUBLE, MPI_SUM, owner, grid.along_row);
            if (grid.column == owner) {
                dtrsv_("U", "N", "N", &width, at(before, my_columns_before(first)), &matrix.lead, sum, &STEP);
                memcpy(values, sum, (size_t)width * sizeof(double));
            }
        }
        if (grid.column == owner) {
            MPI_Bcast(values, width, MPI_DOUBLE, row_owner(first), grid.along_column);
            if (before > 0)
                dgemv_("N", &before, &width, &MINUS, at(0, my_columns_before(first)), &matrix.lead, values, &STEP, &ONE, known, &STEP);
        }
    }
    for (int first = 0; first < n; first += nb)
        MPI_Bcast(x + first, n - first < nb ? n - first : nb, MPI_DOUBLE, column_owner(first), grid.along_row);
}

/* ---- is it right? ---- */

static double largest_of(double own) {
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* HPL's residual, with the matrix made anew. */
static double residual(const double *x) {
    int n = matrix.n, rows = matrix.rows;
    double *column = column_again, *all = sums + 2 * (size_t)rows, of_b = 0.0, of_x = 0.0;
    memset(sums, 0, 2 * (size_t)rows * sizeof(double));
    for (int c = 0; c < matrix.columns; c++) {
        int which = global_column(c);
        make_column(column, which);
        for (int i = 0; i < rows; i++) {
            if (which == n) of_b = fmax(of_b, fabs(column[i]));
            sums[i] += which == n ? -column[i] : column[i] * x[which];
            if (which < n) sums[rows + i] += fabs(column[i]);
        }
    }
    MPI_Allreduce(sums, all, 2 * rows, MPI_DOUBLE, MPI_SUM, grid.along_row);
    double off = 0.0, of_a = 0.0;
    for (int i = 0; i < rows; i++) {
        if (!(fabs(all[i]) <= off)) off = fabs(all[i]); /* a NaN stays */
        of_a = fmax(of_a, all[rows + i]);
    }
    for (int i = 0; i < n; i++) of_x = fmax(of_x, fabs(x[i]));
    if (isnan(off)) off = INFINITY;
    return largest_of(off) / (DBL_EPSILON / 2 * (largest_of(of_a) * of_x + largest_of(of_b)) * n);
}

/* ---- the run ---- */

struct run {
    double *x, *rates, *seconds; /* the solution; of each repeat */
    double dgemm, worst;         /* flop/s of one rank's BLAS; the worst residual */
};

/* The squarest grid with P <= Q, or the one that was asked for. */
static void make_grid(const struct ranks *ranks) {
    int p = rows_wanted, q = columns_wanted;
    if (p == 0 && q == 0)
        for (p = (int)sqrt((double)ranks->size); ranks->size % p != 0;) p--;
    if (p == 0) p = ranks->size / q;
    if (q == 0) q = ranks->size / p;
    if (p * q != ranks->size) {
        if (ranks->rank == 0) fprintf(stderr, "hpl: --p %d --q %d: there are %d ranks\n", p, q, ranks->size);
        MPI_Finalize();
        exit(KERNEL_USAGE);
    }
    grid.p = p;
    grid.q = q;
    grid.row = ranks->rank / q;
    grid.column = ranks->rank % q;
    MPI_Comm_split(MPI_COMM_WORLD, grid.row, grid.column, &grid.along_row);
    MPI_Comm_split(MPI_COMM_WORLD, grid.column, grid.row, &grid.along_column);
}

static void take_rest(int nb) {
    offer_width = nb;
    offer = take(2 * (size_t)(2 * nb + 3));
    chosen = offer + 2 * nb + 3;
    MPI_Type_contiguous(2 * nb + 3, MPI_DOUBLE, &offer_type);
    MPI_Type_commit(&offer_type);
    MPI_Op_create(choose, 1, &offer_best);
    int *numbers = (int *)(void *)take((size_t)(3 * nb + 2 * grid.p));
    moves.source = numbers;
    moves.to = numbers + nb;
    moves.from = numbers + 2 * nb;
    moves.here = numbers + 3 * nb;
    moves.there = moves.here + grid.p;
}

/* What this rank's BLAS gives while all others work too: the roof over everything above. `low` has room for a panel. */
static double dgemm_rate(int nb, double *low) {
    int m = matrix.rows < 1024 ? matrix.rows : 1024, columns = matrix.columns < SLICE ? matrix.columns : SLICE, rounds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (m < 1 || columns < 1) return 0.0;
    double begun = 0.0, spent = 0.0;
    for (size_t i = 0; i < (size_t)m * (size_t)nb; i++) low[i] = 1e-3;
    for (size_t i = 0; i < (size_t)nb * (size_t)columns; i++) upper[i] = 1e-3;
    for (; spent < 0.2; rounds++) {
        if (rounds == 1) begun = now();
        dgemm_("N", "N", &m, &columns, &nb, &MINUS, low, &m, upper, &nb, &ZERO, matrix.a, &matrix.lead);
        spent = rounds ? now() - begun : 0.0;
    }
    return 2.0 * m * columns * nb * (rounds - 1) / spent;
}

/* OpenBLAS says which processor it took this one for; 0.3.21 takes a Sapphire Rapids for a Prescott. */
static void line_blas(void) {
    union {
        void *found;
        char *(*ask)(void);
    } core;
    core.found = dlsym(RTLD_DEFAULT, "openblas_get_corename");
    const char *bli = dlsym(RTLD_DEFAULT, "bli_info_get_version_str") ? "BLIS" : NULL;
    const char *mkl = dlsym(RTLD_DEFAULT, "mkl_get_version_string") ? "MKL" : NULL;
    line_text("blas", core.found ? "OpenBLAS" : bli ? bli : mkl ? mkl : "unknown");
    if (core.found) line_text("blas_core", core.ask());
}

static double resident(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return largest_of((double)usage.ru_maxrss * 1024.0);
}

/* Takes all memory there will be, and says so before anything is measured. */
static void take_all(const struct ranks *ranks, struct panel *panels, struct run *run, int repeats) {
    take_matrix(order, block);
    take_rest(block);
    take_panel(&panels[0]);
    take_panel(&panels[1]);
    run->x = take((size_t)order);
    run->rates = take((size_t)repeats);
    run->seconds = take((size_t)repeats);
    if (ranks->rank != 0) return;
    fprintf(stderr, "hpl: N=%d NB=%d on %d x %d ranks, %zu MiB each\n", order, block, grid.p, grid.q, taken >> 20);
    fflush(stderr);
}

/* One repeat: makes the matrix, solves, and looks whether x is right. */
static void repeat(struct panel *panels, struct run *run, int which) {
    double n = order, begun;
    make_matrix();
    MPI_Barrier(MPI_COMM_WORLD);
    begun = now();
    factor_matrix(panels);
    solve(run->x);
    run->seconds[which] = largest_of(now() - begun);
    run->rates[which] = (2.0 / 3.0 * n * n * n + 1.5 * n * n) / run->seconds[which];
#ifdef BREAK_RESULT
    run->x[order / 2] *= 1.001; /* for the test that a wrong result is refused */
#endif
    run->worst = fmax(run->worst, residual(run->x));
}

static void print(const struct ranks *ranks, const struct common *common, const struct run *run) {
    double used = resident(), panel_time = largest_of(panel_seconds);
    if (ranks->rank == 0) {
        line_begin(&KERNEL, common, "lu", "flop/s");
        line_numbers("values", run->rates, common->repeats);
        line_numbers("seconds", run->seconds, common->repeats);
        line_whole("n", order);
        line_whole("nb", block);
        line_whole("p", grid.p);
        line_whole("q", grid.q);
        line_number("residual", run->worst);
        line_whole("bytes", (long long)taken);
        line_number("resident", used);
        line_number("dgemm", run->dgemm);
        line_number("panel_seconds", panel_time);
        line_blas();
    }
    line_places(ranks);
    if (ranks->rank == 0) line_end();
}

int main(int argc, char **argv) {
    struct common common;
    struct panel panels[2];
    struct run run = {0};
    struct ranks ranks = ranks_start(&KERNEL, argc, argv, &common);
    make_grid(&ranks);
    take_all(&ranks, panels, &run, common.repeats);
    run.dgemm = dgemm_rate(block, panels[0].low);
    for (int i = 0; i < common.repeats; i++) repeat(panels, &run, i);
    bool right = run.worst < 16.0;
    if (right) print(&ranks, &common, &run);
    else if (ranks.rank == 0) fprintf(stderr, "hpl: the result is wrong: residual %g is not below 16\n", run.worst);
    MPI_Finalize();
    return right ? KERNEL_GOOD : KERNEL_WRONG;
}

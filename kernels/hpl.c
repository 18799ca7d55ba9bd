/* hpl: solves a dense random system of equations, as HPL does, on the MPI and the BLAS of the site.
 *
 * unit flop/s; 2/3 N^3 + 3/2 N^2 operations are counted, as HPL counts them, whatever is really done.
 * variant lu: right-looking LU with partial pivoting, 2D block-cyclic over P x Q ranks (numbered along rows), recursive
 * panels, one panel ahead of the update, panels sent along rows in a ring. The right-hand side is the matrix's last column.
 * Checked by HPL's residual |Ax-b| / (eps (|A||x|+|b|) N), in the maximum norm, below 16, with A made anew.
 * Fields of its own: n nb p q residual blas blas_core dgemm (flop/s of one rank's BLAS while all work), panel_seconds,
 * resident (most bytes that a rank really used), places. `bytes` is what each rank was to use, announced before it starts.
 * It cannot tell what a vendor's HPL reaches on the same machine; compare BLAS libraries with it, and nodes.
 */
#include "ranks.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* The BLAS by its Fortran names: every library has them. */
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *, const double *,
            const int *, double *, const int *);
void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *, const int *,
            const double *, double *, const int *);
void dtrsv_(const char *, const char *, const char *, const int *, const double *, const int *, double *, const int *);

enum { LEAF = 8, SLICE = 768, TAG_PANEL = 1, PAD = 8 };

static const double ONE = 1.0, MINUS = -1.0, ZERO = 0.0;
static const int STEP = 1;

static const char *const VARIANTS[] = {"lu flop/s: 2/3 N^3 + 3/2 N^2 operations, residual checked", NULL};

static int order = 1000, block = 192, rows_wanted, columns_wanted, seed = 42;

static const struct argument ARGUMENTS[] = {
    {"n", "N", "equations (default 1000)", take_count, &order},
    {"nb", "NB", "columns of a panel (default 192)", take_count, &block},
    {"p", "P", "rows of ranks (default: the largest that gives P <= Q)", take_count, &rows_wanted},
    {"q", "Q", "columns of ranks", take_count, &columns_wanted},
    {"seed", "N", "another random matrix", take_count, &seed},
    {NULL, NULL, NULL, NULL, NULL},
};

static const struct kernel KERNEL = {"hpl", "solves a dense system of equations on all ranks, as HPL does", VARIANTS, ARGUMENTS, 1};

struct grid {
    int p, q, row, column;
    MPI_Comm along_row, along_column; /* ranks of my row; of my column */
};

/* This rank's part of the matrix, column by column; the right-hand side is column n. */
struct matrix {
    int n, nb, rows, columns, lead;
    double *a;
};

/* A factored panel as it travels along a row: pivots, the square on top, my rows below. */
struct panel {
    int first, width, owner_row, owner_column; /* global column; where its diagonal block lives */
    int rows, skip, lead;                      /* my rows of it; those of them that are the square; leading dimension of `low` */
    double *buffer, *pivot, *top, *low;        /* pivot: width; top: width x width; low: rows x width */
    size_t length;
    MPI_Request request[2]; /* receiving, sending on */
};

static struct grid grid;
static struct matrix matrix;
static double *upper, *packed; /* the rows of U in a slice of columns; rows on their way */
static double panel_seconds;

/* ---- block-cyclic numbers ---- */

/* How many of the first `count` global rows (or columns) are on place `which` of `places`. */
static int held(int count, int nb, int which, int places) {
    int full = count / nb, share = full / places * nb, extra = full % places;
    if (which < extra) return share + nb;
    return which == extra ? share + count % nb : share;
}

static int my_rows_before(int row) { return held(row, matrix.nb, grid.row, grid.p); }
static int my_columns_before(int column) { return held(column, matrix.nb, grid.column, grid.q); }
static int row_owner(int row) { return row / matrix.nb % grid.p; }
static int column_owner(int column) { return column / matrix.nb % grid.q; }
static int global_row(int local) { return (local / matrix.nb * grid.p + grid.row) * matrix.nb + local % matrix.nb; }
static double *at(int row, int column) { return matrix.a + (size_t)column * (size_t)matrix.lead + row; }

/* ---- the random matrix ---- */

static const uint64_t FACTOR = 6364136223846793005u, TERM = 1u;

/* The generator's number at a position, without those before it. */
static uint64_t jumped(uint64_t position) {
    uint64_t factor = FACTOR, term = TERM, all_factor = 1, all_term = 0;
    for (; position; position >>= 1) {
        if (position & 1) {
            all_factor *= factor;
            all_term = all_term * factor + term;
        }
        term *= factor + 1;
        factor *= factor;
    }
    return all_factor * (uint64_t)seed + all_term;
}

/* Fills my rows of a global column with numbers between -0.5 and 0.5. */
static void make_column(double *into, int column) {
    for (int local = 0; local < matrix.rows; local += matrix.nb) {
        int count = matrix.rows - local < matrix.nb ? matrix.rows - local : matrix.nb;
        uint64_t state = jumped((uint64_t)column * (uint64_t)matrix.n + (uint64_t)global_row(local));
        for (int i = 0; i < count; i++) {
            into[local + i] = (double)(int64_t)(state >> 11) * 0x1p-53 - 0.5;
            state = state * FACTOR + TERM;
        }
    }
}

static int global_column(int local) { return (local / matrix.nb * grid.q + grid.column) * matrix.nb + local % matrix.nb; }

static void make_matrix(void) {
    for (int c = 0; c < matrix.columns; c++) make_column(at(0, c), global_column(c));
}

/* ---- memory ---- */

static size_t taken;

static double *take(size_t doubles) {
    size_t bytes = (doubles + PAD) * sizeof(double), huge = (size_t)2 << 20;
    if (bytes > huge) bytes = (bytes + huge - 1) / huge * huge;
    double *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ranks_fail(KERNEL_CANNOT, "hpl: %zu MiB of memory cannot be had; ask for a smaller --n", bytes >> 20);
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* fewer TLB misses in the row swaps; refused where there are none */
    taken += bytes;
    return memory;
}

static void take_panel(struct panel *panel) {
    int nb = matrix.nb;
    panel->lead = (matrix.rows + PAD - 1) / PAD * PAD + PAD;
    panel->length = (size_t)nb + (size_t)nb * (size_t)nb + (size_t)panel->lead * (size_t)nb;
    panel->buffer = take(panel->length);
    panel->pivot = panel->buffer;
    panel->top = panel->pivot + nb;
    panel->low = panel->top + (size_t)nb * (size_t)nb;
    panel->request[0] = panel->request[1] = MPI_REQUEST_NULL;
}

static void take_matrix(int n, int nb) {
    matrix.n = n;
    matrix.nb = nb;
    matrix.rows = my_rows_before(n);
    matrix.columns = my_columns_before(n + 1);
    matrix.lead = (matrix.rows + PAD - 1) / PAD * PAD + PAD;
    if (matrix.lead % 512 == 0) matrix.lead += PAD; /* columns a power of two apart share cache sets */
    matrix.a = take((size_t)matrix.lead * (size_t)(matrix.columns + 1));
    upper = take((size_t)nb * (SLICE + (size_t)nb));
    packed = take(3 * (size_t)nb * (SLICE + (size_t)nb));
}

/* ---- a panel ---- */

/* What a rank offers as pivot of a column: size, global row, that row; and the row it would change places with. */
static double *offer, *chosen;
static MPI_Datatype offer_type;
static MPI_Op offer_best;
static int offer_width;

/* The greater pivot wins; of two equal ones the upper row, so that the answer does not depend on who asks first. */
static void choose(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)count;
    (void)type;
    double *a = in, *b = inout;
    if (a[0] > b[0] || (a[0] == b[0] && a[1] < b[1])) memcpy(b, a, (size_t)(2 + offer_width) * sizeof(double));
    if (a[2 + offer_width] != 0.0) memcpy(b + 2 + offer_width, a + 2 + offer_width, (size_t)(1 + offer_width) * sizeof(double));
}

static int largest(const double *column, int from, int count) {
    int best = from;
    double size = -1.0;
    for (int i = from; i < count; i++)
        if (fabs(column[i]) > size) {
            size = fabs(column[i]);
            best = i;
        }
    return best;
}

static void copy_row(double *into, const double *row, int lead, int width) {
    for (int c = 0; c < width; c++) into[c] = row[(size_t)c * (size_t)lead];
}

static void put_row(double *row, const double *from, int lead, int width) {
    for (int c = 0; c < width; c++) row[(size_t)c * (size_t)lead] = from[c];
}

/* Finds the pivot of column j, puts its row on top and the row that stood there in its place. */
static void pivot_column(struct panel *panel, int j) {
    bool mine = panel->skip > 0;
    int from = mine ? j : 0, width = panel->width, first_row = my_rows_before(panel->first);
    double *column = panel->low + (size_t)j * (size_t)panel->lead, *standing = offer + 3 + offer_width;
    offer[0] = -1.0;
    offer[1] = DBL_MAX;
    if (from < panel->rows) {
        int best = largest(column, from, panel->rows);
        offer[0] = fabs(column[best]);
        offer[1] = global_row(first_row + best);
        copy_row(offer + 2, panel->low + best, panel->lead, width);
    }
    offer[2 + offer_width] = mine;
    if (mine) copy_row(standing, panel->low + j, panel->lead, width);
    const double *won = offer;
    if (grid.p > 1) {
        MPI_Allreduce(offer, chosen, 1, offer_type, offer_best, grid.along_column);
        won = chosen;
    }
    int row = (int)won[1];
    panel->pivot[j] = row;
    if (!(won[0] > 0.0)) ranks_fail(KERNEL_WRONG, "hpl: column %d has no pivot: the result would be wrong", panel->first + j);
    if (row != panel->first + j && row_owner(row) == grid.row)
        put_row(panel->low + (my_rows_before(row) - first_row), won + 3 + offer_width, panel->lead, width);
    put_row(panel->top + j, won + 2, matrix.nb, width);
}

/* Divides a column by its pivot and takes its multiples off those to the right of it in the leaf. */
static void eliminate(struct panel *panel, int j, int end) {
    int from = panel->skip > 0 ? j + 1 : 0;
    size_t lead = (size_t)panel->lead, nb = (size_t)matrix.nb;
    double *restrict column = panel->low + (size_t)j * lead;
    double scale = 1.0 / panel->top[(size_t)j * nb + (size_t)j];
    for (int i = from; i < panel->rows; i++) column[i] *= scale;
    for (int c = j + 1; c < end; c++) {
        double *restrict other = panel->low + (size_t)c * lead, factor = panel->top[(size_t)c * nb + (size_t)j];
        for (int i = from; i < panel->rows; i++) other[i] -= column[i] * factor;
    }
}

/* Factors `count` columns of a panel from column j on: the left half, what it does to the right half, the right half. */
static void factor_columns(struct panel *panel, int j, int count) {
    if (count <= LEAF) {
        for (int c = j; c < j + count; c++) {
            pivot_column(panel, c);
            eliminate(panel, c, j + count);
        }
        return;
    }
    int left = (count / 2 + LEAF - 1) / LEAF * LEAF, right = count - left, nb = matrix.nb;
    factor_columns(panel, j, left);
    double *triangle = panel->top + (size_t)j * (size_t)nb + j, *beside = triangle + (size_t)left * (size_t)nb;
    dtrsm_("L", "L", "N", "U", &left, &right, &ONE, triangle, &nb, beside, &nb);
    int from = panel->skip > 0 ? j + left : 0, rows = panel->rows - from;
    double *low = panel->low + (size_t)j * (size_t)panel->lead + from;
    if (rows > 0)
        dgemm_("N", "N", &rows, &right, &left, &MINUS, low, &panel->lead, beside, &nb, &ONE,
               low + (size_t)left * (size_t)panel->lead, &panel->lead);
    factor_columns(panel, j + left, right);
}

static void begin_panel(struct panel *panel, int first) {
    int rest = matrix.n - first, before = my_rows_before(first);
    panel->first = first;
    panel->width = rest < matrix.nb ? rest : matrix.nb;
    panel->owner_row = row_owner(first);
    panel->owner_column = column_owner(first);
    panel->rows = matrix.rows - before;
    panel->skip = grid.row == panel->owner_row ? panel->width : 0;
    panel->length = (size_t)(panel->low - panel->buffer) + (size_t)panel->lead * (size_t)panel->width;
}

/* Factors the panel in my column of ranks and leaves its square in the matrix, where U is read from in the end. */
static void factor(struct panel *panel) {
    double begun = now();
    int column = my_columns_before(panel->first), before = my_rows_before(panel->first), width = panel->width;
    for (int c = 0; c < width; c++)
        memcpy(panel->low + (size_t)c * (size_t)panel->lead, at(before, column + c), (size_t)panel->rows * sizeof(double));
    factor_columns(panel, 0, width);
    for (int c = 0; panel->skip && c < width; c++)
        memcpy(at(before, column + c), panel->top + (size_t)c * (size_t)matrix.nb, (size_t)width * sizeof(double));
    panel_seconds += now() - begun;
}

/* ---- panels along the rows, in a ring ---- */

static int steps_from_owner(const struct panel *panel) { return (grid.column - panel->owner_column + grid.q) % grid.q; }

static void pass_on(struct panel *panel) {
    if (steps_from_owner(panel) < grid.q - 1)
        MPI_Isend(panel->buffer, (int)panel->length, MPI_DOUBLE, (grid.column + 1) % grid.q, TAG_PANEL, grid.along_row,
                  &panel->request[1]);
}

static void expect(struct panel *panel) {
    MPI_Irecv(panel->buffer, (int)panel->length, MPI_DOUBLE, (grid.column + grid.q - 1) % grid.q, TAG_PANEL, grid.along_row,
              &panel->request[0]);
}

/* Looks whether an expected panel is here, and sends it on at once. */
static void look_for(struct panel *panel, bool wait) {
    if (!panel || panel->request[0] == MPI_REQUEST_NULL) return;
    int here = 1;
    if (wait) MPI_Wait(&panel->request[0], MPI_STATUS_IGNORE);
    else MPI_Test(&panel->request[0], &here, MPI_STATUS_IGNORE);
    if (here) pass_on(panel);
}

/* ---- rows that change places ---- */

/* Which row ends up as row i of the square, and which rows of the square end up where, after all swaps of a panel. */
struct moves {
    int *source;            /* for each row of the square: global row it comes from */
    int *to, *from, count;  /* rows below that get a row of the square */
    int *here, *there;      /* room for ranks' counts and places */
};

static struct moves moves;

static void plan_moves(const struct panel *panel) {
    int width = panel->width, first = panel->first;
    for (int i = 0; i < width; i++) moves.source[i] = first + i;
    moves.count = 0;
    for (int i = 0; i < width; i++) {
        int row = (int)panel->pivot[i], mine = moves.source[i];
        if (row < first + width) {
            moves.source[i] = moves.source[row - first];
            moves.source[row - first] = mine;
            continue;
        }
        int k = 0;
        while (k < moves.count && moves.to[k] != row) k++;
        if (k == moves.count) {
            moves.to[k] = row;
            moves.from[k] = row;
            moves.count++;
        }
        moves.source[i] = moves.from[k];
        moves.from[k] = mine;
    }
}

/* One row of ranks: rows change places inside my memory. */
static void swap_here(const struct panel *panel, int column, int count) {
    int width = panel->width;
    for (int c = 0; c < count; c++) {
        double *a = at(0, column + c), *u = upper + (size_t)c * (size_t)matrix.nb;
        for (int i = 0; i < width; i++) u[i] = a[moves.source[i]];
        for (int k = 0; k < moves.count; k++) a[moves.to[k]] = a[moves.from[k]];
    }
}

/* Every rank of a column gets all rows of U: each gives those that it has. */
static void gather_upper(const struct panel *panel, int column, int count) {
    int width = panel->width, sent = 0;
    for (int r = 0; r < grid.p; r++) moves.here[r] = 0;
    for (int i = 0; i < width; i++) {
        int owner = row_owner(moves.source[i]);
        moves.here[owner] += count;
        if (owner != grid.row) continue;
        const double *row = at(my_rows_before(moves.source[i]), column);
        for (int c = 0; c < count; c++) packed[sent++] = row[(size_t)c * (size_t)matrix.lead];
    }
    moves.there[0] = 0;
    for (int r = 1; r < grid.p; r++) moves.there[r] = moves.there[r - 1] + moves.here[r - 1];
    double *all = packed + (size_t)matrix.nb * (SLICE + (size_t)matrix.nb);
    MPI_Allgatherv(packed, sent, MPI_DOUBLE, all, moves.here, moves.there, MPI_DOUBLE, grid.along_column);
    for (int i = 0; i < width; i++) {
        double *row = all + moves.there[row_owner(moves.source[i])];
        moves.there[row_owner(moves.source[i])] += count;
        for (int c = 0; c < count; c++) upper[(size_t)c * (size_t)matrix.nb + (size_t)i] = row[c];
    }
}

/* The rows of the square that went down go to the ranks that they went to. */
static void scatter_displaced(const struct panel *panel, int column, int count) {
    double *all = packed + (size_t)matrix.nb * (SLICE + (size_t)matrix.nb);
    for (int r = 0, place = 0; r < grid.p; r++) {
        moves.here[r] = 0;
        moves.there[r] = place;
        for (int k = 0; k < moves.count; k++) {
            if (row_owner(moves.to[k]) != r) continue;
            moves.here[r] += count;
            if (grid.row == panel->owner_row) {
                const double *row = at(my_rows_before(moves.from[k]), column);
                for (int c = 0; c < count; c++) all[place + c] = row[(size_t)c * (size_t)matrix.lead];
            }
            place += count;
        }
    }
    MPI_Scatterv(all, moves.here, moves.there, MPI_DOUBLE, packed, moves.here[grid.row], MPI_DOUBLE, panel->owner_row,
                 grid.along_column);
    const double *next = packed;
    for (int k = 0; k < moves.count; k++) {
        if (row_owner(moves.to[k]) != grid.row) continue;
        double *row = at(my_rows_before(moves.to[k]), column);
        for (int c = 0; c < count; c++) row[(size_t)c * (size_t)matrix.lead] = *next++;
    }
}

/* ---- the update ---- */

/* Turns rows of A into rows of U, L's triangle on their left. By halves: most of the work becomes dgemm, which is faster. */
static void solve_upper(const double *triangle, int width, double *rows, int count) {
    int nb = matrix.nb;
    if (width <= 4 * LEAF) {
        dtrsm_("L", "L", "N", "U", &width, &count, &ONE, triangle, &nb, rows, &nb);
        return;
    }
    int half = (width / 2 + LEAF - 1) / LEAF * LEAF, rest = width - half;
    solve_upper(triangle, half, rows, count);
    dgemm_("N", "N", &rest, &count, &half, &MINUS, triangle + half, &nb, rows, &nb, &ONE, rows + half, &nb);
    solve_upper(triangle + (size_t)half * (size_t)nb + half, rest, rows + half, count);
}

/* Takes a panel's share off some of my columns: swap rows, solve for U, subtract. */
static void update(const struct panel *panel, int column, int count) {
    int width = panel->width, nb = matrix.nb, below = my_rows_before(panel->first) + panel->skip, rows = matrix.rows - below;
    if (count <= 0) return;
    if (grid.p == 1) swap_here(panel, column, count);
    else {
        gather_upper(panel, column, count);
        scatter_displaced(panel, column, count);
    }
    solve_upper(panel->top, width, upper, count);
    for (int c = 0; panel->skip && c < count; c++)
        memcpy(at(below - width, column + c), upper + (size_t)c * (size_t)nb, (size_t)width * sizeof(double));
    if (rows > 0)
        dgemm_("N", "N", &rows, &count, &width, &MINUS, panel->low + panel->skip, &panel->lead, upper, &nb, &ONE,
               at(below, column), &matrix.lead);
}

static void factor_matrix(struct panel *panels) {
    struct panel *panel = &panels[0], *next = &panels[1];
    begin_panel(panel, 0);
    if (grid.column == panel->owner_column) {
        factor(panel);
        pass_on(panel);
    } else expect(panel);
    for (int first = 0; first < matrix.n; first += matrix.nb) {
        look_for(panel, true);
        plan_moves(panel);
        int column = my_columns_before(first + panel->width), after = first + matrix.nb;
        MPI_Wait(&next->request[1], MPI_STATUS_IGNORE); /* its buffer is used again */
        if (after < matrix.n) {
            begin_panel(next, after);
            if (grid.column == next->owner_column) {
                update(panel, column, next->width);
                column += next->width;
                factor(next);
                pass_on(next);
            } else expect(next);
        }
        for (; column < matrix.columns; column += SLICE) {
            update(panel, column, matrix.columns - column < SLICE ? matrix.columns - column : SLICE);
            look_for(after < matrix.n ? next : NULL, false);
        }
        struct panel *done = panel;
        panel = next;
        next = done;
    }
    for (int i = 0; i < 2; i++) MPI_Wait(&panels[i].request[1], MPI_STATUS_IGNORE);
}

/* ---- back substitution ---- */

/* Solves U x = b from the last block up; x ends up whole on every rank. */
static void solve(double *x) {
    int n = matrix.n, nb = matrix.nb, home = column_owner(n), right = my_columns_before(n);
    double *sum = packed, *part = packed + nb, *known = take((size_t)matrix.rows + 1);
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
    double *column = take((size_t)rows + 1), *sums = take(2 * (size_t)rows + 2), *all = take(2 * (size_t)rows + 2);
    memset(sums, 0, 2 * (size_t)rows * sizeof(double));
    double of_b = 0.0, of_x = 0.0;
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

/* What this rank's BLAS gives while all others work too: the roof over everything above. */
static double dgemm_rate(int nb) {
    int m = matrix.rows < 1024 ? matrix.rows : 1024, columns = matrix.columns < SLICE ? matrix.columns : SLICE, rounds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (m < 1 || columns < 1) return 0.0;
    double *low = take((size_t)m * (size_t)nb), begun = 0.0, spent = 0.0;
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

int main(int argc, char **argv) {
    struct common common;
    struct panel panels[2];
    struct ranks ranks = ranks_start(&KERNEL, argc, argv, &common);
    make_grid(&ranks);
    take_matrix(order, block);
    take_rest(block);
    take_panel(&panels[0]);
    take_panel(&panels[1]);
    double *x = take((size_t)order), *rates = take((size_t)common.repeats), *seconds = take((size_t)common.repeats);
    if (ranks.rank == 0) {
        fprintf(stderr, "hpl: N=%d NB=%d on %d x %d ranks, %zu MiB each\n", order, block, grid.p, grid.q, taken >> 20);
        fflush(stderr);
    }
    size_t announced = taken;
    double dgemm = dgemm_rate(block), worst = 0.0, work = 2.0 / 3.0 * order * (double)order * order + 1.5 * order * (double)order;
    for (int i = 0; i < common.repeats; i++) {
        make_matrix();
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = now();
        factor_matrix(panels);
        solve(x);
        seconds[i] = largest_of(now() - begun);
        rates[i] = work / seconds[i];
#ifdef BREAK_RESULT
        x[order / 2] *= 1.001; /* for the test that a wrong result is refused */
#endif
        worst = fmax(worst, residual(x));
    }
    if (!(worst < 16.0)) {
        if (ranks.rank == 0) fprintf(stderr, "hpl: the result is wrong: residual %g is not below 16\n", worst);
        MPI_Finalize();
        return KERNEL_WRONG;
    }
    double used = resident(), panel_time = largest_of(panel_seconds);
    if (ranks.rank == 0) {
        line_begin(&KERNEL, &common, "lu", "flop/s");
        line_numbers("values", rates, common.repeats);
        line_numbers("seconds", seconds, common.repeats);
        line_whole("n", order);
        line_whole("nb", block);
        line_whole("p", grid.p);
        line_whole("q", grid.q);
        line_number("residual", worst);
        line_whole("bytes", (long long)announced);
        line_number("resident", used);
        line_number("dgemm", dgemm);
        line_number("panel_seconds", panel_time);
        line_blas();
    }
    line_places(&ranks);
    if (ranks.rank == 0) line_end();
    MPI_Finalize();
    return KERNEL_GOOD;
}

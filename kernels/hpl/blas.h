/* The BLAS by its Fortran names: every library has them. */
#ifndef ADVISOR_HPL_BLAS_H
#define ADVISOR_HPL_BLAS_H

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *, const double *,
            const int *, double *, const int *);
void dgemv_(const char *, const int *, const int *, const double *, const double *, const int *, const double *, const int *,
            const double *, double *, const int *);
void dtrsv_(const char *, const char *, const char *, const int *, const double *, const int *, double *, const int *);

static const double ONE = 1.0, MINUS = -1.0, ZERO = 0.0;
static const int STEP = 1;

#endif

"""Lines of mpiexec of MPICH, Intel MPI and PALS, and of MVAPICH2's mpirun_rsh."""

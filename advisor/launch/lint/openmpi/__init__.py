"""Lines of Open MPI's mpirun: what versions 4 (ORTE) and 5 (PRRTE) make of them."""

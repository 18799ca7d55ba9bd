"""What runs under MPI on the nodes of a fleet: messages between pairs, HPL on each."""

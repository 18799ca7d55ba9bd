"""The C kernels, each built and run as a sysadmin would."""

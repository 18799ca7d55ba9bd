"""Says how an HPC server should be set up, and proves it."""

__version__ = "0.1.0"

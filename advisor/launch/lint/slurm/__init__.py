"""Lines of Slurm's srun."""

"""Real launchers on machines that are not there: what each rank observes, without root and without the hardware."""

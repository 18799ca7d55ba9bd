"""What the operating system tells: kernel, power management, limits of the process, scheduler, software."""

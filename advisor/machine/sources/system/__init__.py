"""What the operating system reports: kernel, power management, limits of the process, scheduler, software."""

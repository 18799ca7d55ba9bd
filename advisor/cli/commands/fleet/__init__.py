"""Commands that look at many nodes at once: each module is one."""

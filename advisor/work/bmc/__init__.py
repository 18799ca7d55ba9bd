"""BIOS settings through a BMC: read, planned, staged, restarted, proven and undone; one module a step."""

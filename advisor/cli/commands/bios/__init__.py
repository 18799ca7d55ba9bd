"""Commands that read and change the BIOS through a BMC: each module is one."""

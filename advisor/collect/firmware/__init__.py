"""What the firmware tells: ACPI and SMBIOS tables, memory slots, the BIOS over Redfish."""

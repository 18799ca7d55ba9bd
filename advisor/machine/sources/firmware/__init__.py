"""What the firmware reports: ACPI and SMBIOS tables, memory slots, the BIOS over Redfish."""

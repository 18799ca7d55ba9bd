"""The PCI bus: its devices, links, places and configuration registers."""

"""Advice: rules and what they judge, settings and vendors, the BIOS plan, what-if, the checklist, and their pages."""

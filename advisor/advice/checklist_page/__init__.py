"""The checklist on a page, and what its exported files are filled with."""

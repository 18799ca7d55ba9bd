"""Makes a Plan of wishes, a maker's sheet, the BIOS and its registry: legal, ordered, free of conflict. Pure."""

"""Makes a Plan of wishes, a vendor's sheet, the BIOS and its registry: legal, ordered, free of conflict. Pure."""

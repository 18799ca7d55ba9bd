"""One module a format of ``advisor export``; ``advisor/exports/export.py`` says what each has."""

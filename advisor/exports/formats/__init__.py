"""One module a format of ``advisor export``; ``advisor/exports/format.py`` says what each has."""

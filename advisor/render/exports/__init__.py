"""One module a format of ``advisor export``; ``advisor/render/export.py`` says what each has."""

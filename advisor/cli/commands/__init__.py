"""One file a command; the folder is the list of commands.

A command's module has a docstring and a function ``run``. The docstring's first line is the help in the list of
commands; a line ``Group: NAME`` says where in that list it stands, lines ``Example: ...`` are shown below its options.
"""

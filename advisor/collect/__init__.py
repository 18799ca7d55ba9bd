"""From a host to a Machine: one file a source, no opinions in it.

Each source module has
    PATHS     the files it reads, as patterns: what `advisor capture` stores
    COMMANDS  the commands it runs, as argument tuples: the same
    RANK      lower is asked first, and believed first where two sources know the same fact
    collect   Host -> Machine with the facts it knows, where each was read, and what it could not learn
The folder is the registry: a module placed here with these four names is a source.
"""

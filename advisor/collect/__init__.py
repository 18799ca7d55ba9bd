"""From a host to a Machine: one file a source, no opinions in it.

Each source module has
    PATHS     the files it reads, as patterns: what `advisor capture` stores (see advisor/host/patterns.py):
              `*` `?` `[...]` stand for names within one component; links on the way are kept as links;
              a trailing `@` keeps a link itself (or a folder), not what it holds;
              `{cgroup}` stands for the process's own cgroup and each one above it
    COMMANDS  the commands it runs, as argument tuples: the same
    RANK      lower is asked first, and believed first where two sources know the same fact
    collect   Host -> Machine with the facts it knows, where each was read, and what it could not learn
The folder is the registry: a module placed here with these four names is a source.
"""

"""From a host to a Machine: no opinions in it.

A source of facts is a FactSource in the SOURCES of a module here, in this folder or one below:
    name      what gaps, progress and the page of sources call it
    rank      lower is asked first, and believed first where two sources know the same fact
    about     one sentence: which facts, read from where
    paths     the files it reads, as patterns: what `advisor capture` stores (see advisor/machine/hosts/capture.py):
              `*` `?` `[...]` stand for names within one component; links on the way are kept as links;
              a trailing `@` keeps a link itself (or a folder), not what it holds;
              `{cgroup}` stands for the process's own cgroup and each one above it
    commands  the commands it runs, as argument tuples: the same
    collect   Host -> Machine with the facts it knows, where each was read, and what it could not learn
The folder is the registry: nothing else names a source.
"""

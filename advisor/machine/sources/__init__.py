"""From a host to a Machine: no opinions in it.

A source of facts is a FactSource in the SOURCES of a module here, in this folder:
    name      what gaps, progress and the page of sources call it
    about     one sentence: which facts, read from where
    collect   Host -> Machine with the facts it knows, where each was read, and what it could not learn
    paths     the files it reads, as patterns: what `advisor capture` stores (see advisor/machine/hosts/capture.py):
              `*` `?` `[...]` stand for names within one component; links on the way are kept as links;
              a trailing `@` keeps a link itself (or a folder), not what it holds;
              `{cgroup}` stands for the process's own cgroup and each one above it
    commands  the commands it runs, as argument tuples: the same
    public    what of them may be given away
    rank      lower is asked first, and believed first where two sources know the same fact; 20 where nothing is said
The folder is the registry: nothing else names a source.
"""

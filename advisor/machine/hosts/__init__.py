"""The only door to the outside: what a file says, what a folder holds, what a command prints.

A host is this machine, a capture of another, or a lone hwloc XML. "Not there", "not allowed" and "took too long"
are answers, not exceptions, so that a source can say what it could not learn and why.
"""

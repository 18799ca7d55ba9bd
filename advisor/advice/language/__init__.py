"""The rule language: expressions that are checked when they are read and evaluated with three truth values. Pure."""

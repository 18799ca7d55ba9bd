"""One module a task: strings the rooms together, takes typed values, returns one, prints nothing (docs/api.md)."""

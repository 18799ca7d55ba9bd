"""Reads launch lines that somebody wrote: explains, predicts, warns, translates. Starts nothing, reads no files."""

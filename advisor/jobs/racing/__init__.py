"""Finds by experiment which launch line of a job is fastest: candidates, runs, the journal, what was learned."""

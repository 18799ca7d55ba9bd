"""Tasks of many nodes: read a fleet's folder, audit it, keep a baseline, plan for it."""

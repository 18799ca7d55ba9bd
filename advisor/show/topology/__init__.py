"""Pictures of one machine: for a terminal and as SVG."""

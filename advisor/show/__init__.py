"""What all pages are drawn with: lines, lists of CPUs, command lines, the drawing of a topology."""

"""The nouns: frozen values with arithmetic at most. No file is read here, nothing is printed."""

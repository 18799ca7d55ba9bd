"""What a capture never holds (passwords, tokens, keys), and what of it stays when it is anonymised."""

"""Any value as text: for a terminal, as a picture, as JSON. Pure: values in, text out."""

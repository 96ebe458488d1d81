"""Files of other tools as our runs."""

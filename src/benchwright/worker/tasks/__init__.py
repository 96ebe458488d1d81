"""The numbers that a command prints, taken from its output while it runs."""

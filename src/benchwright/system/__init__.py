"""Processes, files and the like, with the standard library alone."""

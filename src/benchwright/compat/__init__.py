"""The command lines of older systems, as thin translators onto the runner."""

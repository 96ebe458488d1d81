"""The machine that measures: what it is, how it is watched, and which devices are connected to it."""

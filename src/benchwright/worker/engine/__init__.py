"""The measuring engine: clock, arrival schedules, the timed loop. Standard library only; it knows no models."""

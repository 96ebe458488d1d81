"""Two sides measured in interleaved pairs, with a stated rate of false alarms."""

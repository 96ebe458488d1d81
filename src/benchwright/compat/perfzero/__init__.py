"""PerfZero's command lines and files: `benchwright perfzero` is its benchmark.py, run by our own runner."""

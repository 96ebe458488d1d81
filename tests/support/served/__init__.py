"""Real servers of models, each a program for the Python of `.venv-servers`, with tiny models that are made here.

`processes` starts such a program and ends it; it alone is imported by tests.
"""

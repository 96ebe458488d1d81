"""The child process: one job in, one answer out. It loads a model through a runtime and times its calls."""

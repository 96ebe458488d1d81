"""The parent process: starts workers, watches them, turns their answers into results and saves those one by one."""

<<<<<<< HEAD
"""Processes, files and the like, with the standard library alone."""
=======
"""What is asked of the operating system and of the standard library alone: processes, files, texts."""
>>>>>>> 17302db (Check what a worker says in one place, and bound what exceptions say)

"""What watching a repository needs beside measuring: a journal, choosing commits, files that others read, signals."""

"""A server whose answers are written beforehand, byte by byte, and which keeps the instant of everything it does.

`script` says what an answer is, `events` and `faults` write usual and unusual ones, `client` starts the server and
talks to it. The other modules run in the server's process and need nothing but the standard library.
"""

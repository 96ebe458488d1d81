"""Command tasks: what a program prints becomes metrics.

A task is a command and patterns. This package reads task files, finds the patterns in a log while it streams, and
computes metrics from what was found; starting the command is a runtime's business. Standard library only, and no text
of a user is ever evaluated as code.
"""

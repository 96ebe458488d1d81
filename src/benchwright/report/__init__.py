"""Showing runs: terminal table, CSV, Markdown, data frames, a single-file HTML report, and comparisons of two runs.

Everything here reads records and writes text. Nothing measures, and nothing opens a store.
"""

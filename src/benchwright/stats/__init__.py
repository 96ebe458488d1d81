"""Statistics: pure functions on numbers and records, each naming the paper it follows.

`summary` uses numpy. Everything else needs the standard library alone, because the measuring worker uses it before any
runtime is loaded.
"""

"""Statistics: pure functions on numbers and records, each naming the paper it follows.

`distributions`, `correlation`, `ranks`, `histogram`, `hdr`, `steady` and `validity` need the standard library alone,
because the measuring worker uses them before any runtime is loaded; `summary` and `compare` use numpy.
"""

"""Statistics: pure functions on numbers and records, each naming the paper it follows.

What the measuring worker uses before any runtime is loaded needs the standard library alone. Judging many numbers at
once (`summary`, `errors`, `pairs`, `changepoint`, `drift`, `bisection`, `race` and what these use) is done with
numpy.
"""

"""Outposts: a process of ours on another machine makes attempts there, so that everything holds there as it does here.

The parent sends files, orders and a sign of life over one line; the outpost starts the workers, holds the barrier,
watches, and answers with the outcome. Clocks of two machines never meet: every instant in an outcome is the outpost's.
"""

"""Judgement of results: rows, comparisons, gates, changes in series. Nothing here opens a store or draws anything.

`detection` and `drift_detection` keep findings in the store that they are given; everything else is pure.
"""

"""Specs say what a model is and how to test it, once; every framework and backend runs it.

`reader` knows our own form, `compat.harness.specs` the two forms of FAI-PEP. Both come down to cases: a model in a
runtime, or a `passes.Pass`, which is a program that prints result rows and everything around it.
"""

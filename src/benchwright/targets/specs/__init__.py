"""Specs say what a model is and how to test it, once; every framework and backend runs it.

`reading` knows our own form, `older` the two forms of FAI-PEP. Both come down to cases: a model in a runtime, or a
`passes.Pass`, which is a program that prints result rows and everything around it.
"""

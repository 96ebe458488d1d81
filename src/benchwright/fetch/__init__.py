"""Gets files that a benchmark needs: `downloads` and `buckets` fetch, `archives` unpacks, `cache` keeps them.

A file that is only half there never looks complete, and what a person changed is never overwritten.
"""

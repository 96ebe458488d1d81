"""Watches a repository: the loop, one commit, pairs that confirm a change, the journal, files that others read."""

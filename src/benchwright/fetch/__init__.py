"""Getting things that a benchmark needs: files (`downloads`), what is packed in them (`archives`), and source code
(`checkouts`). What is half there never looks complete, and what a person changed is never overwritten.
"""

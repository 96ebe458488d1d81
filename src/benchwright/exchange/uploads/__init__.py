"""What is sent elsewhere once it is measured and kept: folders to any store, rows to BigQuery, summaries to hooks.

Nothing here is imported, and no credential is looked for, unless sending was asked for.
"""

"""Runs in files: JSON Lines and Parquet."""

"""Benchwright: one benchmark platform for machine learning."""

"""What people name to be measured, turned into cases: sources, spec files, task files, signatures of model files."""

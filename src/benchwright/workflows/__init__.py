"""What a person can ask for, one entry each: run, ab, bisect, watch, compare, history, findings."""

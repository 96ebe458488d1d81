"""The Deep Learning Benchmark driver's command line and result file, on our own runner."""

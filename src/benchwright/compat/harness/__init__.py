"""FAI-PEP's command line and result files, on our own runner."""

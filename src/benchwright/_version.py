"""The version, a constant: reading package metadata would cost 47 ms at every start."""

VERSION = "0.1.0"

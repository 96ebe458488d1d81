"""Served models, called over a wire: what is sent to them."""

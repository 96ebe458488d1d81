"""The server: a JSON API on a database, and the dashboard that reads it."""

"""Any route that takes a request with a body: templates that bodies are written from, and where answers stand."""

"""Container images to measure in: a Dockerfile from a recorded environment with our own wheel in it (`recipes`), what a
user wants of it (`orders`), and an engine that builds, loads and lists images (`builder`).
"""

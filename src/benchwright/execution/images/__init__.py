"""Container images to measure in: a Dockerfile from a recorded environment (`recipes`), our own wheel to put into it
(`wheels`), and an engine that builds, loads and lists images (`building`).
"""

"""The lab: agents offer machines to a server, and measure there what people submit to it.

An agent is an outpost that calls its server: it claims a job, fetches its files, measures, and delivers.
"""

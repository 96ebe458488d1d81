"""The client of served models: it sends requests on time, stamps whatever arrives, and reads it when nothing is timed.

`client` and `connection` speak HTTP, `grpc_client` gRPC, both with the face that `endpoint_client` has. `loads` decides
when each request is due, `reading` makes columns of what arrived. What a protocol sends and answers is said by an
adapter in `worker.runtimes`, through `dialect.Dialect`.
"""

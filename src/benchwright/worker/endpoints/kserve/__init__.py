"""The Open Inference Protocol (KServe v2): tensors by name, type and shape, over HTTP and gRPC."""

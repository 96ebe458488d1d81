"""llama_program.py MODEL PORT: llama.cpp's own HTTP server on loopback, with four slots."""

from __future__ import annotations

import sys

import xllamacpp
from lifeline import end_with_standard_input

SLOTS = 4
CONTEXT = 2048  # tokens of each slot


def main(model: str, port: int) -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.model_alias = {"tiny"}
    parameters.n_parallel = SLOTS
    parameters.n_ctx = SLOTS * CONTEXT
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.cpuparams.n_threads = 1
    parameters.n_gpu_layers = 0
    parameters.endpoint_metrics = True
    parameters.embedding = True  # besides what it generates
    parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(parameters)
    end_with_standard_input().join()
    del server


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

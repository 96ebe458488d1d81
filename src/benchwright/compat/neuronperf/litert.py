"""LiteRT, which was TensorFlow Lite: `.tflite` files."""

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls

benchmark = partial(benchmark_calls.benchmark, runtime="litert")
evaluate = partial(benchmark_calls.evaluate, runtime="litert")

"""LiteRT, which was TensorFlow Lite: `.tflite` files."""

from functools import partial

from benchwright.compat.neuronperf import benchmarking

benchmark = partial(benchmarking.benchmark, runtime="litert")
evaluate = partial(benchmarking.evaluate, runtime="litert")

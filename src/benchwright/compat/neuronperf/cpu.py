"""Models on the CPU: any class or function, or a file of any runtime."""

from functools import partial

from benchwright.compat.neuronperf import benchmarking

benchmark = partial(benchmarking.benchmark, device_type="cpu")
evaluate = partial(benchmarking.evaluate, device_type="cpu")

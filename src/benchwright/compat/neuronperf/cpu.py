"""Models on the CPU: any class or function, or a file of any runtime."""

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls

benchmark = partial(benchmark_calls.benchmark, device_type="cpu")
evaluate = partial(benchmark_calls.evaluate, device_type="cpu")

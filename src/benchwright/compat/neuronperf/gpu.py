"""Models on GPUs: a torch module's class, or a file of a runtime that knows the device. Absent GPUs are an error."""

from functools import partial

from benchwright.compat.neuronperf import benchmark_calls

benchmark = partial(benchmark_calls.benchmark, device_type="gpu")
evaluate = partial(benchmark_calls.evaluate, device_type="gpu")

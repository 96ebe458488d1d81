"""Models on GPUs: a torch module's class, or a file of a runtime that knows the device. Absent GPUs are an error."""

from functools import partial

from benchwright.compat.neuronperf import benchmarking

benchmark = partial(benchmarking.benchmark, device_type="gpu")
evaluate = partial(benchmarking.evaluate, device_type="gpu")

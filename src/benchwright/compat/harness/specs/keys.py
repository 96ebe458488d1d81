"""The keys that the older forms give a meaning. Any other is legal too, as a placeholder."""

from __future__ import annotations

# fmt: off
TOP = frozenset({"model", "tests", "default_args", "meta", "benchmarks"})
MODEL = frozenset({
    "name", "format", "files", "framework", "group", "category", "description", "kind", "cooldown", "timeout", "repeat",
    "command_args", "converter", "preprocess", "postprocess", "platform_args", "libraries", "platform", "app",
    "log_output", "inputs", "outputs", "commands", "path",
})
TEST = frozenset({
    "identifier", "metric", "iter", "warmup", "commands", "command", "arguments", "inputs", "input_files",
    "output_files", "files", "preprocess", "postprocess", "platform_args", "timeout", "env", "log_output", "statistics",
    "cpu-list", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "method", "collection_time", "voltage", "monsoon", "profiler",
    "degrade",
})
FILE = frozenset({"filename", "location", "md5", "converter", "upload", "target"})
# fmt: on

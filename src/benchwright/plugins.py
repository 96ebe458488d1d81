"""Adapters by (group, name). Built-ins and third-party packages come through the same door.

A package adds one with an entry point, for example `[project.entry-points."benchwright.runtimes"]` and
`mine = "my_package.runtime:MyRuntime"`. The built-ins are declared the same way in our own `pyproject.toml`; the
table here repeats them because reading package metadata costs 47 ms, and because a packed worker has no metadata.
A test keeps the two equal.
"""

from __future__ import annotations

import importlib
from typing import Any

from benchwright.errors import OptionError, did_you_mean

BUILTIN: dict[str, dict[str, str]] = {
    "runtimes": {
        "onnxruntime": "benchwright.runtimes.onnxruntime:OnnxRuntime",
        "openvino": "benchwright.runtimes.openvino:OpenVino",
        "torch": "benchwright.runtimes.torch:Torch",
        "litert": "benchwright.runtimes.litert:LiteRt",
        "tensorflow": "benchwright.runtimes.tensorflow:TensorFlow",
        "jax": "benchwright.runtimes.jax:Jax",
        "python": "benchwright.runtimes.python:Python",
        "class": "benchwright.runtimes.classes:Class",
        "command": "benchwright.runtimes.command:Command",
        "task": "benchwright.runtimes.task:TaskRuntime",
        "binary": "benchwright.runtimes.binary:Binary",
        "pipeline": "benchwright.runtimes.pipeline:Pipeline",
        "fake": "benchwright.runtimes.fake:Fake",
    },
    "sources": {
        "models": "benchwright.sources.models:Models",
        "specs": "benchwright.sources.specs:Specs",
        "callables": "benchwright.sources.callables:Callables",
        "classes": "benchwright.sources.classes:Classes",
        "commands": "benchwright.sources.commands:Commands",
        "tasks": "benchwright.sources.tasks:Tasks",
    },
    "monitors": {
        "process": "benchwright.monitors.process:ProcessMonitor",
        "pressure": "benchwright.monitors.pressure:PressureMonitor",
        "gpu": "benchwright.monitors.gpu:GpuMonitor",
        "power": "benchwright.monitors.power:PowerMonitor",
        "vms": "benchwright.monitors.vms:VirtualMemoryMonitor",
    },
    "hosts": {
        "local": "benchwright.hosts.local:LocalHost",
        "container": "benchwright.hosts.container:ContainerHost",
        "adb": "benchwright.hosts.adb:AdbHost",
    },
    "profilers": {
        "tensorflow": "benchwright.profilers.tensorflow:TensorFlowProfiler",
        "torch": "benchwright.profilers.torch:TorchProfiler",
        "onnxruntime": "benchwright.profilers.onnxruntime:OnnxRuntimeProfiler",
        "py-spy": "benchwright.profilers.pyspy:PySpy",
        "perf": "benchwright.profilers.perf:Perf",
    },
    "operators": {
        "onnxruntime": "benchwright.profilers.onnxruntime:OnnxRuntimeOperators",
        "openvino": "benchwright.profilers.openvino:OpenVinoOperators",
        "torch": "benchwright.profilers.torch:TorchOperators",
        "jax": "benchwright.profilers.jax:JaxOperators",
    },
    "notifiers": {
        "webhook": "benchwright.notify.webhook:Webhook",
        "github": "benchwright.notify.github:GitHub",
        "gitlab": "benchwright.notify.gitlab:GitLab",
        "apprise": "benchwright.notify.apprise:Apprise",
    },
    "stores": {
        "sqlite": "benchwright.store.sql:SqlStore",
        "postgresql": "benchwright.store.sql:SqlStore",
        "http": "benchwright.store.remote:RemoteStore",
        "https": "benchwright.store.remote:RemoteStore",
    },
    "importers": {
        "google-benchmark": "benchwright.interop.google_benchmark:GoogleBenchmark",
        "pytest-benchmark": "benchwright.interop.pytest_benchmark:PytestBenchmark",
        "hyperfine": "benchwright.interop.hyperfine:Hyperfine",
        "pyperf": "benchwright.interop.pyperf:Pyperf",
        "asv": "benchwright.interop.asv:Asv",
        "loadgen": "benchwright.interop.loadgen:LoadGen",
    },
    "exporters": {
        "bmf": "benchwright.interop.bmf:Bmf",
        "customSmallerIsBetter": "benchwright.interop.github_action:SmallerIsBetter",
        "customBiggerIsBetter": "benchwright.interop.github_action:BiggerIsBetter",
    },
}


def names(group: str) -> list[str]:
    """Every name in a group: the built-ins in their order, then what is installed."""
    return list(dict.fromkeys([*BUILTIN[group], *_installed(group)]))


def load(group: str, name: str) -> Any:
    """The adapter `name` of `group`."""
    reference = BUILTIN[group].get(name) or _installed(group).get(name)
    if reference is None:
        singular = group.removesuffix("s")
        raise OptionError(f"unknown {singular} {name!r}", remedy=did_you_mean(name, names(group)))
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _installed(group: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=f"benchwright.{group}")}

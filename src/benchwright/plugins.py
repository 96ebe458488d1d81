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
        "onnxruntime": "benchwright.worker.runtimes.onnxruntime:OnnxRuntime",
        "openvino": "benchwright.worker.runtimes.openvino:OpenVino",
        "torch": "benchwright.worker.runtimes.torch:Torch",
        "litert": "benchwright.worker.runtimes.litert:LiteRt",
        "tensorflow": "benchwright.worker.runtimes.tensorflow:TensorFlow",
        "jax": "benchwright.worker.runtimes.jax:Jax",
        "python": "benchwright.worker.runtimes.python:Python",
        "class": "benchwright.worker.runtimes.classes:Class",
        "asv": "benchwright.worker.runtimes.asv:AsvSuite",
        "command": "benchwright.worker.runtimes.command:Command",
        "task": "benchwright.worker.runtimes.task:TaskRuntime",
        "binary": "benchwright.worker.runtimes.binary:Binary",
        "pipeline": "benchwright.worker.runtimes.pipeline:Pipeline",
        "openai": "benchwright.worker.runtimes.openai:OpenAi",
        "kserve": "benchwright.worker.runtimes.kserve:Kserve",
        "http": "benchwright.worker.runtimes.http_post:HttpPost",
        "fake": "benchwright.worker.runtimes.fake:Fake",
        "control": "benchwright.worker.runtimes.control:Control",
        "pytest": "benchwright.worker.runtimes.pytest_node:PytestNode",
    },
    "sources": {
        "endpoints": "benchwright.targets.sources.endpoints:Endpoints",
        "asv": "benchwright.targets.sources.asv:AsvSuites",
        "models": "benchwright.targets.sources.models:Models",
        "specs": "benchwright.targets.sources.specs:Specs",
        "callables": "benchwright.targets.sources.callables:Callables",
        "classes": "benchwright.targets.sources.classes:Classes",
        "commands": "benchwright.targets.sources.commands:Commands",
        "tasks": "benchwright.targets.sources.tasks:Tasks",
    },
    "monitors": {
        "process": "benchwright.machine.monitors.process:ProcessMonitor",
        "pressure": "benchwright.machine.monitors.pressure:PressureMonitor",
        "gpu": "benchwright.machine.monitors.gpu:GpuMonitor",
        "power": "benchwright.machine.monitors.power:PowerMonitor",
        "vms": "benchwright.machine.monitors.vms:VirtualMemoryMonitor",
    },
    "hosts": {
        "local": "benchwright.execution.hosts.local:LocalHost",
        "container": "benchwright.execution.hosts.container:ContainerHost",
        "adb": "benchwright.execution.hosts.adb:AdbHost",
        "ssh": "benchwright.execution.hosts.ssh:SshHost",
        "slurm": "benchwright.execution.hosts.slurm:SlurmHost",
        "ray": "benchwright.execution.hosts.ray:RayHost",
        "cloud": "benchwright.execution.hosts.cloud:CloudHost",
    },
    "profilers": {
        "tensorflow": "benchwright.worker.profilers.tensorflow:TensorFlowProfiler",
        "torch": "benchwright.worker.profilers.torch:TorchProfiler",
        "onnxruntime": "benchwright.worker.profilers.onnxruntime:OnnxRuntimeProfiler",
        "py-spy": "benchwright.worker.profilers.pyspy:PySpy",
        "perf": "benchwright.worker.profilers.perf:Perf",
    },
    "operators": {
        "onnxruntime": "benchwright.worker.profilers.onnxruntime:OnnxRuntimeOperators",
        "openvino": "benchwright.worker.profilers.openvino:OpenVinoOperators",
        "torch": "benchwright.worker.profilers.torch:TorchOperators",
        "jax": "benchwright.worker.profilers.jax:JaxOperators",
    },
    "clouds": {
        "aws": "benchwright.cloud.providers.aws:Aws",
        "gcp": "benchwright.cloud.providers.google:Google",
        "azure": "benchwright.cloud.providers.azure:Azure",
        "oci": "benchwright.cloud.providers.oci:Oci",
        "skypilot": "benchwright.cloud.providers.skypilot:SkyPilot",
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
        "google-benchmark": "benchwright.exchange.importers.google_benchmark:GoogleBenchmark",
        "pytest-benchmark": "benchwright.exchange.importers.pytest_benchmark:PytestBenchmark",
        "hyperfine": "benchwright.exchange.importers.hyperfine:Hyperfine",
        "pyperf": "benchwright.exchange.importers.pyperf:Pyperf",
        "asv": "benchwright.exchange.importers.asv:Asv",
        "loadgen": "benchwright.exchange.importers.loadgen:LoadGen",
        "guidellm": "benchwright.exchange.importers.guidellm:GuideLlm",
        "aiperf": "benchwright.exchange.importers.aiperf:AiPerf",
        "vllm": "benchwright.exchange.importers.vllm:Vllm",
    },
    "exporters": {
        "bmf": "benchwright.exchange.exporters.bmf:Bmf",
        "customSmallerIsBetter": "benchwright.exchange.exporters.github_action:SmallerIsBetter",
        "customBiggerIsBetter": "benchwright.exchange.exporters.github_action:BiggerIsBetter",
        "pytest-benchmark": "benchwright.exchange.exporters.pytest_benchmark:PytestBenchmarkJson",
    },
}


def names(group: str) -> list[str]:
    """Every name in a group: the built-ins in their order, then what is installed."""
    return list(dict.fromkeys([*BUILTIN[group], *_find_installed(group)]))


def load(group: str, name: str) -> Any:
    """The adapter `name` of `group`."""
    reference = BUILTIN[group].get(name) or _find_installed(group).get(name)
    if reference is None:
        singular = group.removesuffix("s")
        raise OptionError(f"unknown {singular} {name!r}", remedy=did_you_mean(name, names(group)))
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _find_installed(group: str) -> dict[str, str]:
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=f"benchwright.{group}")}

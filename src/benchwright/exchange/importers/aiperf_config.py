"""What aiperf was asked for: model, server, data and load, in the settings of 0.13 and in those of older versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchwright.exchange.importers import construction
from benchwright.exchange.importers.place import DocumentPlace
from benchwright.records import Arrivals, Case, Load, Mode, Scalar, Value
from benchwright.system.masking import mask_url

_OPEN = {"poisson": Arrivals.POISSON, "gamma": Arrivals.POISSON, "constant": Arrivals.CONSTANT}
_DATA = ("type", "name", "path", "format", "entries", "input_file", "public_dataset", "custom_dataset_type")


def case(tool: str, config: DocumentPlace, phase: str, *, alone: bool) -> Case:
    """The model's name with how it was asked, in the phase of that name."""
    told = _phase(config, phase)
    load, params = _load(told)
    endpoint = config["endpoint"]
    named: dict[str, Scalar] = {"endpoint": endpoint["type"].text(""), **params}
    if not alone:
        named["phase"] = phase
    shown = {name: value for name, value in named.items() if value not in (None, "")}
    return construction.case(tool, _model(config) or "unnamed", shown, load=load)


def details(about: DocumentPlace) -> dict[str, Value]:
    """What is known of the server and of what was sent to it; nothing that may be a secret."""
    config = about["input_config"]
    endpoint = config["endpoint"]
    urls = endpoint["urls"].data or [endpoint["url"].data]
    data = next(iter(config["datasets"]), config["input"])
    server: dict[str, Value] = {
        "model": _model(config),
        "urls": [mask_url(url) for url in urls if isinstance(url, str)] if isinstance(urls, list) else [],
        "streaming": endpoint["streaming"].value(),
    }
    return {
        "server": {name: value for name, value in server.items() if value not in (None, "", [])},
        "data": {name: data[name].value() for name in _DATA if data[name].data is not None},
        "objectives": config["slos"].value(),
        "benchmark_id": about["benchmark_id"].text(""),
    }


def accelerators(about: DocumentPlace) -> tuple[Mapping[str, Value], ...]:
    """The GPUs of the server, where their telemetry was recorded."""
    gpus = [gpu for _, one in about["telemetry_data"]["endpoints"].items() for _, gpu in one["gpus"].items()]
    return tuple({"name": gpu["gpu_name"].text(""), "index": gpu["gpu_index"].value()} for gpu in gpus)


def _model(config: DocumentPlace) -> str:
    names = [item["name"].text("") for item in config["models"]["items"]] if config["models"].data else []
    older = config["endpoint"]["model_names"].data
    names += [name for name in older if isinstance(name, str)] if isinstance(older, list) else []
    return ", ".join(filter(None, names))


def _phase(config: DocumentPlace, name: str) -> DocumentPlace:
    """The settings of a phase: the one of that name, else the first that is no warm-up; of older versions the load."""
    phases = [one for one in config["phases"] if one["kind"].data != "warmup" and one["name"].data != "warmup"]
    if not phases:
        return config["loadgen"]
    return next((one for one in phases if name and one["name"].data == name), phases[0])


def _load(told: DocumentPlace) -> tuple[Load, dict[str, Scalar]]:
    kind: Any = told["type"].data or told["request_rate_mode"].data
    place = told["rate"] if told["rate"].data is not None else told["request_rate"]
    rate, users = place.maybe(), told["concurrency"].maybe()
    if kind == "fixed_schedule":
        return Load(mode=Mode.OPEN, arrivals=Arrivals.TRACE), {"schedule": "fixed"}
    if rate is not None and kind != "concurrency_burst":
        load = Load(mode=Mode.OPEN, rate=rate, arrivals=_OPEN.get(str(kind), Arrivals.POISSON))
        params: dict[str, Scalar] = {"arrivals": str(kind) if kind == "gamma" else None, "rate": rate}
        return load, {**params, "max_concurrency": users}
    workers = int(users) if users is not None and 1 <= users <= 1e9 else 1
    return Load(mode=Mode.CLOSED, workers=workers), {"concurrency": workers}

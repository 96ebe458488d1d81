"""Runs of served models for tests of what is shown: real requests to the scripted server, every chunk with its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import benchwright as bw
from benchwright.records import Run
from scripted import events, faults
from scripted.client import ScriptedServer
from scripted.events import Usage
from scripted.script import Script

TOKENS = 8
SLOTS = 3  # answers that the server gives at a time: more users than these wait
CHAT = "/v1/chat/completions"
_SCRIPTS = 40  # answers, of which three fail; what comes later is answered well


def answer() -> Script:
    """A streamed answer: 6 ms until it begins, 2 ms between its tokens."""
    words = [f" word{number}" for number in range(TOKENS)]
    return replace(events.stream(words, usage=Usage(40, TOKENS), gaps=[2.0]), wait=6.0)


def measure_sweep(server: ScriptedServer, *, workers: Sequence[int] = (1, 2, 3, 4, 8), seconds: float = 0.4) -> Run:
    """Measures a growing number of users of a server that serves three at a time."""
    stage = server.play(answer(), slots=SLOTS)
    return measure(stage.url + CHAT, seconds=seconds, workers=list(workers))


def measure_rates(server: ScriptedServer, *, rates: Sequence[float] = (20.0, 45.0, 160.0), seconds: float = 0.8) -> Run:
    """Measures an open loop with an objective, up to a rate that is beyond what the server can serve."""
    stage = server.play(answer(), slots=SLOTS)
    return measure(stage.url + CHAT, seconds=seconds, rate=list(rates), objective="ttft_p90<100ms")


def measure_failures(server: ScriptedServer, *, rate: float = 60.0, seconds: float = 1.0) -> Run:
    """Measures an open loop of whose answers some are refused, cut off, and broken within."""
    good = answer()
    bad = {25: faults.too_many(), 31: faults.cut(good, 5), 37: faults.error_inside(good, 4)}
    stage = server.play(*(bad.get(place, good) for place in range(_SCRIPTS)))
    return measure(stage.url + CHAT, seconds=seconds, rate=[rate])


def measure_embeddings(server: ScriptedServer) -> Run:
    """Measures answers that are not streamed."""
    stage = server.play(Script(wait=2.0))
    return measure(f"{stage.url}/v1/embeddings", seconds=0.2, tokens=0, workers=[1, 2])


def measure(url: str, *, seconds: float, tokens: int = TOKENS, rounds: int = 1, **settings: object) -> Run:
    """Measures an address, with prompts of 16 tokens."""
    params: dict[str, list[object]] = {"model": ["scripted"], "input_tokens": [16]}
    params |= {"output_tokens": [tokens]} if tokens else {}
    load = bw.Load(duration=seconds, warmup=0.1)
    given = {"params": params, "rounds": rounds, "save": False, "load": load, **settings}
    return bw.run(url, **given).record  # type: ignore[arg-type]

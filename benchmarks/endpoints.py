"""The client of served models: what it costs, how punctual it is, and whether it says what others say.

    python benchmarks/endpoints.py [--quick]

The server is nginx on loopback, llama.cpp where GuideLLM asks it too, and a scripted one that knows when it wrote what.
Contenders take turns, each in a fresh process. Cost is CPU time of the client's process, the kernel's share included: a
machine that is busy otherwise delays requests, but does not change what they cost by much.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchwright.worker.endpoints.wire import parse_address, request_bytes
from harness import (
    Agreement,
    Claim,
    Settings,
    Spread,
    at_least,
    at_most,
    children,
    command,
    endpoint_runs,
    guidellm,
    http_loops,
    interleaved,
    nginx,
    ratios,
    report,
    settings,
    spread,
)
from served import processes, servers  # of the tests, as `endpoint_runs` finds them

WITHIN = 0.05  # of wrk's throughput
LLAMA_USERS, LENGTHS = 2, (200, 64)  # of llama.cpp: users, tokens in and out
SERVED = re.compile(r"^llamacpp:(\w+) (\S+)$", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 when a bar is missed."""
    if children.answered(CONTENDERS, arguments):
        return 0
    asked = settings(__doc__, arguments, rounds=9, quick_rounds=1)
    claims: list[Claim] = []
    if nginx.program() is None:
        print("not installed, left out: nginx, and with it cost, punctuality and throughput")
    else:
        with nginx.running() as port:
            url = f"http://127.0.0.1:{port}"
            claims += [*cost_of_requests(asked, url), *cost_of_events(asked, url), *punctuality(asked, url)]
            claims += saturation(asked, url)
    claims += [*lone_events(asked), *instants(asked), *first_tokens(asked)]
    return report(claims, judged=not asked.quick)


# ---- what a request and an event cost ----


def cost_of_requests(asked: Settings, url: str) -> list[Claim]:
    """CPU for each small request, over a plain aiohttp loop."""
    count, place = asked.count(30_000, 1_000), f"{url}/infer"
    contenders = {OURS: partial(_measured, OURS, url=place, count=count)}
    contenders[BARE] = partial(_measured, BARE, url=place, count=count)
    peer = AIOHTTP if _is_installed("aiohttp") else BARE
    if peer == AIOHTTP:
        contenders[AIOHTTP] = partial(_measured, AIOHTTP, url=place, count=count // 3)
    found = interleaved(contenders, asked.rounds)
    texts = {name: f"{_micro(costs):.1f} µs" for name, costs in found.items()}
    return [
        Claim(
            what=f"CPU per request, {endpoint_runs.USERS} users" + (f": {name}" if name != OURS else ""),
            ours=texts[name],
            against=f"{peer} {texts[peer]}",
            figure=ratios(found[name], found[peer]),
            bar=at_most(0.15) if name == OURS and peer == AIOHTTP else None,
        )
        for name in found
        if name != peer
    ]


def cost_of_events(asked: Settings, url: str) -> list[Claim]:
    """CPU for each event of a stream: while it is timed, and to read it afterwards."""
    count, place = asked.count(2_000, 50), f"{url}/stream"
    contenders = {OURS: partial(_measured, STREAMS, url=place, count=count)}
    if _is_installed("aiohttp"):
        contenders[AIOHTTP] = partial(_measured, AIOHTTP_STREAMS, url=place, count=count // 4)
    found = interleaved(contenders, asked.rounds)
    what = f"CPU per event of streams of {nginx.EVENTS}"
    timed, read = ([one[part] for one in found[OURS]] for part in ("timed", "read"))
    claims = [
        Claim(what=f"{what}, while timing", figure=spread(timed).times(1e6), unit="µs", bar=at_most(1.0)),
        Claim(what=f"{what}, read afterwards", figure=spread(read).times(1e6), unit="µs"),
    ]
    if AIOHTTP in found:
        peer = spread(found[AIOHTTP]).times(1e6)
        claims.append(Claim(what=f"{what}: aiohttp, which parses while timing", figure=peer, unit="µs"))
    return claims


def lone_events(asked: Settings) -> list[Claim]:
    """CPU for each event that arrives by itself: then it is one wake-up of the process for each."""
    count = asked.count(200, 40)
    found = [_measured(LONE, count=count, gap=5.0) for _ in range(asked.rounds)]
    figure = spread(found).times(1e6)
    return [Claim(what="CPU per event that arrives alone, wake-up included", figure=figure, unit="µs")]


# ---- punctuality ----


def punctuality(asked: Settings, url: str) -> list[Claim]:
    """How late requests of an open loop are written."""
    contenders = {LATE: partial(_measured, LATE, url=f"{url}/infer", seconds=asked.pick(5.0, 0.5))}
    found = interleaved(contenders, asked.rounds)[LATE]
    p50, p99 = (spread([one[part] for one in found]) for part in ("p50", "p99"))
    return [
        Claim(
            what=f"send lateness p99 at {endpoint_runs.RATE:,}/s",
            ours=f"median {p50.point / 1e3:.0f} µs",
            figure=p99.times(1e-6),
            unit="ms",
            bar=at_most(1.0),
        )
    ]


# ---- do others say the same? ----


def saturation(asked: Settings, url: str) -> list[Claim]:
    """Throughput of a server that has as much to do as it can, against what wrk says."""
    if shutil.which("wrk") is None:
        print("not installed, left out: wrk")
        return []
    given = {"url": f"{url}/packed", "seconds": asked.count(4, 1)}
    found = interleaved({OURS: partial(_measured, FULL, **given), WRK: partial(by_wrk, **given)}, asked.rounds)
    claim = Claim(
        what="throughput of a saturated server",
        ours=f"{spread(found[OURS]).point:,.0f}/s",
        against=f"wrk {spread(found[WRK]).point:,.0f}/s",
        figure=ratios(found[OURS], found[WRK]),
        bar=at_least(1 - WITHIN),
    )
    return [claim, Claim(what="the same, from above", figure=claim.figure, bar=at_most(1 + WITHIN))]


def by_wrk(url: str, seconds: float) -> float:
    """The same by wrk's own word."""
    header = [text for name, value in endpoint_runs.PACKED.items() for text in ("-H", f"{name}: {value}")]
    given = ["wrk", "-t1", f"-c{endpoint_runs.USERS}", f"-d{seconds}s", *header, url]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    told = re.search(r"^Requests/sec:\s*([\d.]+)", done.stdout, re.MULTILINE)
    assert told and "Non-2xx" not in done.stdout, done.stdout
    return float(told[1])


def instants(asked: Settings) -> list[Claim]:
    """How long after the server's write its event is stamped, and after our write the request is read there."""
    found = [_measured(TRUTH, count=asked.count(20, 2)) for _ in range(asked.rounds)]
    there, here = (spread([one[part] for one in found]).times(1e-6) for part in ("read", "stamped"))
    return [
        Claim(what="instant of an event beyond the server's write, p99", figure=here, unit="ms", bar=at_most(0.2)),
        Claim(what="instant of the server's read beyond that of sending, p99", figure=there, unit="ms"),
    ]


def first_tokens(asked: Settings) -> list[Claim]:
    """Time to first token and between tokens of llama.cpp, against GuideLLM's; and what the server says meanwhile."""
    if asked.quick:
        return []
    try:
        processes.python("servers")
    except AssertionError:
        print("not installed, left out: llama.cpp's server (make .venv-servers/.ready), which GuideLLM would ask, too")
        return []
    if guidellm.program() is None:
        print(f"not installed, left out: GuideLLM (name its command in {guidellm.VARIABLE})")
        return []
    requests = asked.count(200, 20)
    contenders: dict[str, Callable[[], Any]] = {
        name: partial(_of_llama, ask, requests) for name, ask in ((OURS, _by_ours), (GUIDELLM, _by_guidellm))
    }
    found = interleaved(contenders, min(3, asked.rounds))
    claims = [_agree(found, name, what) for name, what in (("ttft", "time to first token"), ("tpot", "between tokens"))]
    for name, rounds in found.items():
        own = spread([one["served"] for one in rounds])
        claims.append(
            Claim(what=f"... the server's own time per token, asked by {name}", figure=own.times(1e3), unit="ms")
        )
    return claims


def _agree(found: Mapping[str, list[Any]], name: str, what: str) -> Claim:
    """Medians against each other, round by round; they may differ by as much as both intervals are wide."""
    ours, theirs = ([one[name] for one in found[tool]] for tool in (OURS, GUIDELLM))
    widths = [(one.high - one.low) / 2 / one.point for one in (*ours, *theirs)]
    return Claim(
        what=f"llama.cpp, {what}, median",
        ours=f"{spread([one.point for one in ours]).point * 1e3:.3f} ms",
        against=f"{GUIDELLM} {spread([one.point for one in theirs]).point * 1e3:.3f} ms",
        figure=ratios([one.point for one in ours], [one.point for one in theirs]),
        bar=Agreement(scatter=2 * sum(widths) / len(widths)),
    )


def _of_llama(ask: Callable[[servers.LlamaServer, Path, int], dict[str, Spread]], requests: int) -> dict[str, Any]:
    """What a tool says of a server that was started for it alone: it has seen no prompt before."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(servers.llama(folder))
        told = ask(server, folder, requests)
        with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
            counts = {name: float(value) for name, value in SERVED.findall(answer.read().decode())}
    return {**told, "served": counts["tokens_predicted_seconds_total"] / counts["tokens_predicted_total"]}


def _by_ours(server: servers.LlamaServer, folder: Path, requests: int) -> dict[str, Spread]:
    given = ["--model", server.model, "--input-tokens", str(LENGTHS[0]), "--output-tokens", str(LENGTHS[1])]
    given += ["--workers", str(LLAMA_USERS), "--samples", str(requests), "--rounds", "1", "--option", "ignore_eos=true"]
    result = command.run(f"{server.url}{endpoint_runs.CHAT}", *given, folder=folder).results[0]
    estimates = {name: result.metric(f"{name}_p50") for name in ("ttft", "tpot")}
    return {
        name: Spread(point=one.estimate.point, low=one.estimate.low, high=one.estimate.high)
        for name, one in estimates.items()
        if one is not None and one.estimate.low is not None and one.estimate.high is not None
    }


def _by_guidellm(server: servers.LlamaServer, folder: Path, requests: int) -> dict[str, Spread]:
    told = guidellm.times(
        server.url, server.model, server.tokenizer, users=LLAMA_USERS, requests=requests, lengths=LENGTHS
    )
    return {name: spread(values) for name, values in told.items()}


# ---- contenders: each in a process of its own ----

OURS, AIOHTTP, BARE, WRK, GUIDELLM = "benchwright", "aiohttp", "a bare protocol class", "wrk", "GuideLLM"
STREAMS, AIOHTTP_STREAMS, LONE, LATE, FULL, TRUTH = "streams", "aiohttp streams", "lone", "late", "full", "truth"


def _by_aiohttp(url: str, count: int) -> float:
    return http_loops.by_aiohttp(url, endpoint_runs.BODY, count)


def _by_protocol(url: str, count: int) -> float:
    address = parse_address(url)
    request = request_bytes(address, endpoint_runs.BODY, endpoint_runs.HEADERS)
    return http_loops.by_protocol(address.host, address.port, request, count)


CONTENDERS: dict[str, Callable[..., Any]] = {
    OURS: endpoint_runs.small,
    AIOHTTP: _by_aiohttp,
    BARE: _by_protocol,
    STREAMS: endpoint_runs.streams,
    AIOHTTP_STREAMS: http_loops.events_by_aiohttp,
    LONE: endpoint_runs.lone,
    LATE: endpoint_runs.late,
    FULL: endpoint_runs.full,
    TRUTH: endpoint_runs.truth,
}


def _measured(name: str, **given: Any) -> Any:
    return children.measured(__file__, name, **given)


def _micro(seconds: Sequence[float]) -> float:
    return spread(seconds).point * 1e6


@cache
def _is_installed(module: str) -> bool:
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"not installed, left out: {module}")
    return found


if __name__ == "__main__":
    sys.exit(main())

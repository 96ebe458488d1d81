"""Result files of GuideLLM, aiperf and vLLM's bench serve, made from one list of requests whose every instant is known.

The shapes follow what those programs write; the numbers are this list's. `main` writes the golden files of
`tests/exchange/files`.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

ZERO = 1770109200.0  # 2026-02-03T09:00:00 UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One request: seconds since the start, and its chunks. The role comes before the first content."""

    scheduled: float
    sent: float
    role: float
    chunks: tuple[float, ...]  # with content
    finish: float  # the chunk that says why it ended
    close: float
    tokens: int
    prompt: int = 20
    error: str = ""

    @property
    def first(self) -> float:
        """The first content."""
        return self.chunks[0]

    @property
    def last(self) -> float:
        """The last content."""
        return self.chunks[-1]


def truths(count: int = 24, failed: int = 0, gap: float = 0.01) -> list[Truth]:
    """Requests every 0.1 s, each sent a little late, with 8 chunks of 9 tokens; the last ones failed."""
    found = []
    for i in range(count):
        scheduled = 0.1 * i
        sent = scheduled + 0.002 + 0.0005 * (i % 3)
        first = sent + 0.05 + 0.001 * (i * 7 % 11)
        chunks = tuple(first + k * (gap + 0.0002 * (i % 5)) for k in range(8))
        finish = chunks[-1] + 0.001
        error = (
            "" if i < count - failed else f"HTTP 500 for http://user:secret@127.0.0.1:1/v1?key=s{'' if i % 2 else '!'}"
        )
        found.append(
            Truth(
                scheduled=scheduled,
                sent=sent,
                role=sent + 0.004,
                chunks=chunks,
                finish=finish,
                close=finish + 0.002,
                tokens=9,
                error=error,
            )
        )
    return found


# ---- GuideLLM ----


def guidellm(loads: Sequence[tuple[dict[str, Any], Sequence[Truth]]], **changes: Any) -> dict[str, Any]:
    """A report of schema 2, as 0.8 writes it: one benchmark for each strategy with its requests."""
    whole = {
        "metadata": {
            "version": 2,
            "guidellm_version": "0.8.1",
            "python_version": "3.11.7",
            "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
        },
        "config": {
            "spec": {
                "backend": {"kind": "openai_http", "target": "http://me:hush@127.0.0.1:8000", "model": "tiny"},
                "data": [{"kind": "synthetic_text", "prompt_tokens": 20, "output_tokens": 9}],
            }
        },
        "benchmarks": [_benchmark(strategy, requests) for strategy, requests in loads],
        "conclusions": [],
    }
    return {**whole, **changes}


def _benchmark(strategy: dict[str, Any], requests: Sequence[Truth]) -> dict[str, Any]:
    good, bad = [r for r in requests if not r.error], [r for r in requests if r.error]
    window = max((r.close for r in requests), default=1.0)
    arrives = strategy["type_"] in ("constant", "poisson")
    weights = [r.tokens - 1 for r in good]
    ttft, itl = [1e3 * (r.first - r.sent) for r in good], [1e3 * (r.last - r.first) / (r.tokens - 1) for r in good]
    tpot = [1e3 * (r.last - r.sent) / r.tokens for r in good]
    metrics = {
        "request_totals": {"successful": len(good), "errored": len(bad), "incomplete": 0, "total": len(requests)},
        "requests_per_second": _by_status([len(good) / window]),
        "request_latency": _by_status([r.close - r.sent for r in good]),
        "request_scheduled_latency": _by_status([r.close - r.scheduled for r in good]) if arrives else None,
        "prompt_token_count": _by_status([r.prompt for r in good]),
        "output_token_count": _by_status([r.tokens for r in good]),
        "time_to_first_token_ms": _by_status(ttft),
        "time_to_first_output_token_ms": _by_status(ttft),
        "time_per_output_token_ms": _by_status(tpot, [r.tokens for r in good]),
        "inter_token_latency_ms": _by_status(itl, weights),
        "prompt_tokens_per_second": _by_status([sum(r.prompt for r in good) / window]),
        "output_tokens_per_second": _by_status([sum(r.tokens for r in good) / window]),
        "request_goodput": None,
    }
    return {
        "type_": "generative_benchmark",
        "config": {
            "strategy": strategy,
            "constraints": {"max_requests": {"type_": "max_requests"}},
            "slo": None,
            "confidence": 0.95,
            "backend": {"kind": "openai_http", "target": "http://me:hush@127.0.0.1:8000", "model": "tiny"},
        },
        "scheduler_metrics": {"strategy_type": strategy["type_"]},
        "metrics": metrics,
        "requests": {
            "successful": [_guidellm_request(i, r) for i, r in enumerate(good)],
            "errored": [_guidellm_request(i, r) for i, r in enumerate(bad)],
            "incomplete": [],
            "total": None,
        },
        "warnings": [],
        "start_time": ZERO,
        "end_time": ZERO + window,
        "duration": window,
    }


def _guidellm_request(number: int, one: Truth) -> dict[str, Any]:
    timings = {
        "targeted_start": ZERO + one.scheduled,
        "request_start": ZERO + one.sent,
        "first_token_iteration": None if one.error else ZERO + one.first,
        "first_output_token_iteration": None if one.error else ZERO + one.first,
        "last_token_iteration": None if one.error else ZERO + one.last,
        "token_iterations": len(one.chunks),
        "request_end": ZERO + one.close,
        "resolve_end": ZERO + one.close,
    }
    return {
        "type_": "generative_request_stats",
        "request_id": f"r{number}",
        "info": {"status": "errored" if one.error else "completed", "timings": timings, "error": one.error or None},
        "prompt_tokens": one.prompt,
        "output_tokens": None if one.error else one.tokens,
    }


def guidellm_old(strategy: dict[str, Any], requests: Sequence[Truth]) -> dict[str, Any]:
    """A report as 0.3 writes it: other keys, the time after the first token over all tokens as TPOT."""
    good = [r for r in requests if not r.error]
    rows = [
        {
            "type_": "generative_text_response",
            "scheduler_info": {"targeted_start_time": ZERO + r.scheduled},
            "prompt_tokens": r.prompt,
            "output_tokens": r.tokens,
            "start_time": ZERO + r.sent,
            "first_token_time": ZERO + r.first,
            "last_token_time": ZERO + r.last,
            "end_time": ZERO + r.close,
        }
        for r in good
    ]
    tpot = [1e3 * (r.last - r.first) / r.tokens for r in good]
    window = max(r.close for r in requests)
    one = {
        "type_": "generative_benchmark",
        "args": {"strategy": strategy},
        "run_stats": {},
        "worker": {"backend_type": "openai_http", "backend_target": "http://127.0.0.1:8000", "backend_model": "tiny"},
        "request_loader": {"data": "prompt_tokens=20,output_tokens=9"},
        "metrics": {
            "requests_per_second": _by_status([len(good) / window]),
            "time_per_output_token_ms": _by_status(tpot, [r.tokens for r in good]),
        },
        "request_totals": {"successful": len(good), "errored": len(requests) - len(good), "incomplete": 0},
        "requests": {"successful": rows, "errored": [{"error": r.error} for r in requests if r.error]},
        "start_time": ZERO,
        "end_time": ZERO + window,
        "duration": window,
    }
    return {"benchmarks": [one]}


def _by_status(values: Sequence[float], weights: Sequence[float] = ()) -> dict[str, Any]:
    return {"successful": _summary(values, weights), "errored": _summary([]), "incomplete": _summary([])}


def _summary(values: Sequence[float], weights: Sequence[float] = ()) -> dict[str, Any]:
    """Mean and percentiles of values that count as often as their weights say."""
    spread = [value for value, n in zip(values, weights or [1] * len(values), strict=True) for _ in range(int(n))]
    ordered = sorted(spread) or [0.0]
    levels = {f"p{q}": ordered[min(len(ordered) - 1, int(q / 100 * len(ordered)))] for q in (50, 90, 95, 99)}
    mean = statistics.fmean(ordered)
    return {
        "mean": mean,
        "count": len(values),
        "percentiles": levels,
        "mean_ci": {"lower": 0.9 * mean, "upper": 1.1 * mean} if len(values) > 1 and not weights else None,
        "percentile_cis": None,
    }


# ---- aiperf ----


def aiperf_records(requests: Sequence[Truth], *, phase: str = "profiling") -> list[dict[str, Any]]:
    """The lines of `profile_export.jsonl`, after one request of the warm-up."""
    lines = [_record(i, one, phase) for i, one in enumerate(requests)]
    return [{**lines[0], "metadata": {**lines[0]["metadata"], "benchmark_phase": "warmup"}}, *lines]


def _record(number: int, one: Truth, phase: str) -> dict[str, Any]:
    metrics = {
        "time_to_first_token": {"value": 1e3 * (one.first - one.sent), "unit": "ms"},
        "request_latency": {"value": 1e3 * (one.last - one.sent), "unit": "ms"},
        "inter_token_latency": {"value": 1e3 * (one.last - one.first) / (one.tokens - 1), "unit": "ms"},
        "inter_chunk_latency": {"value": [1e3 * gap for gap in gaps_of(one.chunks)], "unit": "ms"},
        "output_sequence_length": {"value": one.tokens, "unit": "tokens"},
        "input_sequence_length": {"value": one.prompt, "unit": "tokens"},
    }
    return {
        "metadata": {
            "session_num": number,
            "credit_issued_ns": round(1e9 * (ZERO + one.scheduled)),
            "request_start_ns": round(1e9 * (ZERO + one.sent)),
            "request_end_ns": round(1e9 * (ZERO + one.finish)),
            "benchmark_phase": phase,
            "was_cancelled": False,
        },
        "metrics": {"error_isl": {"value": 20, "unit": "tokens"}} if one.error else metrics,
        "error": {"code": 500, "type": "Internal Server Error", "message": one.error} if one.error else None,
    }


def aiperf_summary(requests: Sequence[Truth], **changes: Any) -> dict[str, Any]:
    """`profile_export_aiperf.json` with the settings of 0.13."""
    good, bad = [r for r in requests if not r.error], [r for r in requests if r.error]
    window = max(r.last for r in requests) - min(r.sent for r in requests)
    itl = [(r.last - r.first) / (r.tokens - 1) for r in good]
    whole = {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "benchmark_id": "b1",
        "request_count": {"unit": "requests", "avg": len(good)},
        "error_request_count": {"unit": "requests", "avg": len(bad)},
        "request_throughput": {"unit": "requests/sec", "avg": len(good) / window},
        "output_token_throughput": {"unit": "tokens/sec", "avg": sum(r.tokens for r in good) / window},
        "benchmark_duration": {"unit": "sec", "avg": window},
        "time_to_first_token": _row("ms", [1e3 * (r.first - r.sent) for r in good]),
        "request_latency": _row("ms", [1e3 * (r.last - r.sent) for r in good]),
        "inter_token_latency": _row("ms", [1e3 * value for value in itl]),
        "inter_chunk_latency": _row("ms", [1e3 * gap for r in good for gap in gaps_of(r.chunks)]),
        "output_token_throughput_per_user": _row("tokens/sec/user", [1 / value for value in itl]),
        "output_sequence_length": _row("tokens", [r.tokens for r in good]),
        "input_sequence_length": _row("tokens", [r.prompt for r in good]),
        "input_config": {
            "models": {"strategy": "round_robin", "items": [{"name": "tiny"}]},
            "endpoint": {
                "urls": ["http://me:hush@127.0.0.1:8000"],
                "type": "chat",
                "streaming": True,
                "api_key": "hush",
            },
            "datasets": [{"name": "default", "type": "synthetic", "entries": 100}],
            "phases": [
                {"name": "warmup", "kind": "warmup", "type": "concurrency", "concurrency": 1},
                {"name": "profiling", "kind": "profiling", "type": "concurrency", "concurrency": 4},
            ],
        },
        "was_cancelled": False,
        "error_summary": [{"error_details": {"message": r.error}, "count": 1} for r in bad[:1]],
        "start_time": "2026-02-03T09:00:00.002000",
    }
    return {**whole, **changes}


def _row(unit: str, values: Sequence[float]) -> dict[str, Any]:
    told = _summary(values)
    return (
        {"unit": unit, "avg": told["mean"], "count": len(values), **told["percentiles"]} if values else {"unit": unit}
    )


# ---- vLLM ----


def vllm(requests: Sequence[Truth], *, detailed: bool = True, **changes: Any) -> dict[str, Any]:
    """What `vllm bench serve --save-result` writes: clocks stop at chunks with a choice, the role's and the last."""
    good = [r for r in requests if not r.error]
    window = max(r.finish for r in requests)
    ttft = [r.role - r.sent for r in good]
    tpot = [(r.finish - r.role) / (r.tokens - 1) for r in good]
    itl = [gap for r in good for gap in gaps_of(_choices(r))]
    whole: dict[str, Any] = {
        "date": "20260203-090000",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": "tiny",
        "tokenizer_id": "tiny",
        "num_prompts": len(requests),
        "version": "0.32.0",  # as --metadata version=0.32.0 adds it
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 4,
        "duration": window,
        "completed": len(good),
        "failed": len(requests) - len(good),
        "total_input_tokens": sum(r.prompt for r in good),
        "total_output_tokens": sum(r.tokens for r in good),
        "request_throughput": len(good) / window,
        "request_goodput": None,
        "output_throughput": sum(r.tokens for r in good) / window,
        "max_output_tokens_per_s": 90.0,
    }
    for name, values in {"ttft": ttft, "tpot": tpot, "itl": itl}.items():
        told = _summary([1e3 * value for value in values])
        whole |= {f"mean_{name}_ms": told["mean"], f"median_{name}_ms": told["percentiles"]["p50"]}
        whole |= {f"std_{name}_ms": 0.1, f"p99_{name}_ms": told["percentiles"]["p99"]}
    if detailed:
        answered: Callable[[Truth, Any, Any], Any] = lambda one, value, otherwise: otherwise if one.error else value  # noqa: E731
        whole |= {
            "input_lens": [r.prompt for r in requests],
            "output_lens": [answered(r, r.tokens, 0) for r in requests],
            "ttfts": [answered(r, r.role - r.sent, 0.0) for r in requests],
            "itls": [answered(r, gaps_of(_choices(r)), []) for r in requests],
            "latencies": [answered(r, r.finish - r.sent, 0.0) for r in requests],
            "start_times": [100.0 + r.sent for r in requests],
            "queue_times": [r.sent - r.scheduled for r in requests],
            "generated_texts": ["text" for _ in requests],
            "errors": [r.error for r in requests],
        }
    return {**whole, **changes}


def _choices(one: Truth) -> tuple[float, ...]:
    return (one.role, *one.chunks, one.finish)


def gaps_of(instants: Sequence[float]) -> list[float]:
    """What lies between instants that follow each other."""
    return [after - before for before, after in pairwise(instants)]


def main(folder: Path) -> None:
    """Writes the golden files."""
    few = truths(6, failed=1)
    sweep: list[tuple[dict[str, Any], Sequence[Truth]]] = [
        ({"type_": "concurrent", "streams": 2}, few),
        ({"type_": "poisson", "rate": 10.0, "random_seed": 42}, few),
        ({"type_": "throughput", "max_concurrency": None}, few),
    ]
    _write(folder / "guidellm.json", guidellm(sweep))
    _write(folder / "vllm.json", vllm(few))
    (folder / "aiperf").mkdir(exist_ok=True)
    _write(folder / "aiperf" / "profile_export_aiperf.json", aiperf_summary(few))
    lines = [json.dumps(line) for line in aiperf_records(few)]
    (folder / "aiperf" / "profile_export.jsonl").write_text("\n".join(lines) + "\n")


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

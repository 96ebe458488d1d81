"""Small results on the short way get the answers that the framework gives, and several go together."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Result, Run
from benchwright.server.joint_work import JointWork
from benchwright.server.routes import uploads

LONG_WAY = {"Cookie": "some=thing"}  # somebody at a browser: the framework answers
LINES = {"Content-Type": "application/x-ndjson"}


def _begin(server: Any, number: int) -> Run:
    run: Run = runs.run_of(number, 0.5)
    assert server.put(f"runs/{run.id}", content=schema.dumps(replace(run, results=()))).status_code == 201
    return run


def test_both_ways_give_the_same_answers(server: Any) -> None:
    run = _begin(server, 31)
    first, second = run.results
    body = schema.dumps(first).encode()
    other = schema.dumps(replace(first, duration=9.0)).encode()
    asked: list[tuple[str, bytes, dict[str, str]]] = [
        (f"runs/{run.id}/results/{first.id}", body, {}),
        (f"runs/{run.id}/results/{first.id}", other, {}),
        (f"runs/{run.id}/results/elsewhere", body, {}),
        (f"runs/nobody/results/{second.id}", schema.dumps(second).encode(), {}),
        (f"runs/{run.id}/results/{first.id}", body[:-9], {}),
        (f"runs/{run.id}/results/{first.id}", body.replace(b'"round"', b'"ronud"', 1), {}),
        (f"runs/{run.id}/results/{first.id}", gzip.compress(body)[:-9], {"Content-Encoding": "gzip"}),
        (f"runs/{run.id}/results/{first.id}", gzip.compress(body), {"Content-Encoding": "gzip"}),
        (f"runs/{run.id}/results/{first.id}", body, {"Content-Encoding": "br"}),
        (f"runs/{run.id}/results/{first.id}", body, {"X-Forwarded-For": "1.2.3.4"}),
        (f"runs/{run.id}/results/%07", body, {}),
    ]
    assert server.put(asked[0][0], content=body).status_code == 201
    for path, content, headers in asked:
        short, long = (server.put(path, content=content, headers={**headers, **more}) for more in ({}, LONG_WAY))
        assert (short.status_code, short.json()) == (long.status_code, long.json())
        differing = {"date", "content-length"}
        assert {n: v for n, v in short.headers.items() if n not in differing} == {
            n: v for n, v in long.headers.items() if n not in differing
        }
    assert server.store.run(run.id) == replace(run, results=(first,))


def test_tokens_scopes_and_limits_hold_on_the_short_way(serving: Callable[..., Any], tmp_path: Path) -> None:
    with serving(tmp_path, require_token=True, limits={"rate": 0.001, "burst": 3}) as server:
        run: Run = runs.run_of(1, 0.5)
        server.store.add_run(replace(run, results=()))
        path, body = f"runs/{run.id}/results/{run.results[0].id}", schema.dumps(run.results[0])
        assert server.put(path, content=body).status_code == 401
        assert server.put(path, content=body, headers={"Authorization": "Bearer bw_wrong"}).status_code == 401
        assert server.put(path, content=body, headers=server.token("reader", "read")).status_code == 403
        assert {*server.store.run(run.id).results} == set()
        writer = server.token("writer", "write")
        told = [server.put(path, content=body, headers=writer) for _ in range(4)]
        assert [one.status_code for one in told] == [201, 200, 200, 429] and told[-1].headers["retry-after"]
        server.store.token_drop("writer")
        assert server.put(path, content=body, headers=writer).status_code == 401
        assert ("writer", "upload results") in {(line.who, line.action) for line in server.store.audit()}


def test_results_at_the_same_time_are_kept_together_and_once_each(server: Any) -> None:
    run = _begin(server, 32)
    results = [replace(run.results[0], id=f"many-{i}") for i in range(20)]

    def send(result: Result) -> int:
        return int(server.put(f"runs/{run.id}/results/{result.id}", content=schema.dumps(result)).status_code)

    with ThreadPoolExecutor(8) as pool:
        told = [*pool.map(send, results * 2)]
    assert sorted(told) == [200] * 20 + [201] * 20
    assert {result.id for result in server.store.run(run.id).results} == {result.id for result in results}


def test_several_results_in_one_request_are_answered_one_by_one(server: Any) -> None:
    run = _begin(server, 33)
    first, second = run.results
    third = replace(first, id="third", duration=3.0)
    lines = [
        schema.dumps(first),
        "{",
        schema.dumps(second),
        schema.dumps(replace(second, duration=8.0)),
        schema.dumps(third).replace('"point":', '"piont":', 1),
    ]
    told = server.post(f"runs/{run.id}/results", content="\n".join(lines) + "\n", headers=LINES)
    assert told.status_code == 200
    found = told.json()["results"]
    assert [(one["id"], one["added"], one["status"]) for one in found] == [
        (first.id, True, 201),
        ("", False, 400),
        (second.id, True, 201),
        ("", False, 400),
        ("", False, 400),
    ]
    assert "line 2" in found[1]["error"] and "a second result" in found[3]["error"] and "piont" in found[4]["error"]
    again = "\n".join([schema.dumps(replace(first, duration=7.0)), schema.dumps(second), schema.dumps(third)])
    told = server.post(f"runs/{run.id}/results", content=again, headers=LINES).json()["results"]
    assert [one["status"] for one in told] == [409, 200, 201]
    assert server.store.run(run.id) == replace(run, results=(first, second, third))
    told = server.post("runs/nobody/results", content=schema.dumps(third), headers=LINES).json()["results"]
    assert [(one["status"], one["added"]) for one in told] == [(404, False)]


def test_a_request_brings_some_results_and_not_too_many(server: Any) -> None:
    run = _begin(server, 34)
    for content in ("", "\n\n", "{}\n" * (uploads.MOST_AT_ONCE + 1)):
        told = server.post(f"runs/{run.id}/results", content=content, headers=LINES)
        assert told.status_code == 400 and told.json()["remedy"]


async def _ask(work: JointWork[str, str], *keys: str) -> list[Any]:
    import asyncio

    return await asyncio.gather(*(work(key) for key in keys), return_exceptions=True)


def test_what_is_asked_while_others_work_is_done_in_one_go() -> None:
    import anyio

    seen: list[list[str]] = []

    def do(keys: Any) -> dict[str, str]:
        seen.append([*keys])
        if "bad" in keys:
            raise ValueError("no")
        return {key: key.upper() for key in keys if key != "none"}

    work: JointWork[str, str] = JointWork(do, most=3)
    assert anyio.run(_ask, work, "a", "b", "a", "none", "c") == ["A", "B", "A", None, "C"]
    assert seen == [["a", "b"], ["none", "c"]]
    failed = anyio.run(_ask, work, "bad", "x")
    assert [type(one) for one in failed] == [ValueError, ValueError]
    assert anyio.run(_ask, work, "d") == ["D"]

"""Uploads: by id, once each however often they are sent, whole or not at all."""

from __future__ import annotations

import gzip
import json
from array import array
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import series_of_runs as runs
from benchwright import schema
from benchwright.records import Result, Run, Samples

LINES = {"Content-Type": "application/x-ndjson"}


def header(run: Run) -> str:
    return schema.dumps(replace(run, results=()))


def with_samples(result: Result) -> Result:
    columns = {"latency": array("q", range(100)), "end": array("q", range(0, 1000, 10))}
    return replace(result, samples=(Samples(copy=0, calls=100, loops=1, elapsed=1000, columns=columns),))


def test_a_run_comes_piece_by_piece_and_every_piece_may_come_twice(server: Any) -> None:
    run: Run = runs.run_of(1, 0.5)
    results = [with_samples(result) for result in run.results]
    for status in (201, 200):
        told = server.put(f"runs/{run.id}", content=header(run))
        assert (told.status_code, told.json()) == (status, {"id": run.id, "added": status == 201})
        for result in results:
            told = server.put(f"runs/{run.id}/results/{result.id}", content=schema.dumps(result))
            assert (told.status_code, told.json()) == (status, {"id": result.id, "added": status == 201})
    assert server.store.run(run.id) == replace(run, results=tuple(results))
    document = server.get(f"runs/{run.id}/document", params={"samples": 1})
    assert schema.loads(document.content, Run) == replace(run, results=tuple(results))
    assert schema.loads(server.get(f"runs/{run.id}/document").content, Run) == run
    found = server.get(f"results/{results[0].id}/samples").json()["answer"]
    assert schema.decode(tuple[Samples, ...], found) == results[0].samples


def test_something_else_under_the_same_id_is_refused_and_nothing_changes(server: Any) -> None:
    run: Run = runs.run_of(2, 0.5)
    assert server.post("runs", content=schema.dumps(run), headers={"Content-Type": "application/json"}).json() == {
        "added": [run.id],
        "present": [],
    }
    other = replace(run, reason="another")
    assert server.put(f"runs/{run.id}", content=header(other)).status_code == 409
    result = replace(run.results[0], duration=99.0)
    told = server.put(f"runs/{run.id}/results/{result.id}", content=schema.dumps(result))
    assert told.status_code == 409 and told.json()["error"]
    assert server.store.run(run.id) == run


def test_results_of_another_run_are_refused_in_words_of_ours(server: Any) -> None:
    run: Run = runs.run_of(81, 0.5)
    assert server.post("runs", content=schema.dumps(run)).status_code == 200
    told = server.post("runs", content=schema.dumps(replace(run, id="another-81")))
    assert told.status_code == 409 and "id" in told.json()["error"] and told.json()["remedy"]
    assert "UNIQUE" not in told.text and "results.result" not in told.text
    assert "another-81" not in {*server.store.run_ids()}


def test_a_result_needs_its_run_and_its_own_address(server: Any) -> None:
    result = runs.run_of(3, 0.5).results[0]
    assert server.put(f"runs/nobody/results/{result.id}", content=schema.dumps(result)).status_code == 404
    told = server.put("runs/nobody/results/another", content=schema.dumps(result))
    assert told.status_code == 400 and "address" in told.json()["error"]
    told = server.put("runs/run-0003", content=schema.dumps(runs.run_of(3, 0.5)))
    assert told.status_code == 400 and "without results" in told.json()["error"]


def test_a_result_can_go_for_another(server: Any) -> None:
    run: Run = runs.run_of(4, 0.5)
    server.store.add_run(run)
    again = replace(run.results[0], id="again")
    told = server.put(f"runs/{run.id}/results/again?instead_of={run.results[0].id}", content=schema.dumps(again))
    assert told.status_code == 201
    assert {result.id for result in server.store.run(run.id).results} == {"again", run.results[1].id}


def test_many_runs_come_as_lines_packed_or_not(server: Any) -> None:
    first, second = ("\n".join(schema.dumps(runs.run_of(i, 0.5)) for i in numbers) for numbers in ((10, 11), (11, 12)))
    assert server.post("runs", content=first, headers=LINES).json() == {
        "added": ["run-0010", "run-0011"],
        "present": [],
    }
    packed = gzip.compress(second.encode()) + gzip.compress(b"\n\n")  # two members are one file
    told = server.post("runs", content=packed, headers={**LINES, "Content-Encoding": "gzip"})
    assert told.json() == {"added": ["run-0012"], "present": ["run-0011"]}


def test_a_run_that_was_begun_is_completed(server: Any) -> None:
    run: Run = runs.run_of(13, 0.5)
    server.put(f"runs/{run.id}", content=header(run))
    server.put(f"runs/{run.id}/results/{run.results[0].id}", content=schema.dumps(run.results[0]))
    assert server.post("runs", content=schema.dumps(run), headers=LINES).json()["added"] == [run.id]
    assert server.store.run(run.id) == run


def test_a_stream_that_goes_wrong_leaves_the_whole_runs_before_it(server: Any) -> None:
    good, cut = schema.dumps(runs.run_of(14, 0.5)), schema.dumps(runs.run_of(15, 0.5))[:-100]
    told = server.post("runs", content=f"{good}\n{cut}", headers=LINES)
    assert told.status_code == 400
    assert told.json()["error"].startswith("line 2: not JSON") and told.json()["added"] == ["run-0014"]
    packed = gzip.compress(f"{good}\n{schema.dumps(runs.run_of(16, 0.5))}\n".encode())
    told = server.post("runs", content=packed[:-20], headers={**LINES, "Content-Encoding": "gzip"})
    assert told.status_code == 400 and "gzip" in told.json()["error"]
    assert "run-0015" not in {*server.store.run_ids()}


def test_the_same_run_from_two_at_once_is_kept_once(server: Any) -> None:
    body = schema.dumps(runs.run_of(20, 0.5))
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: server.post("runs", content=body, headers=LINES), range(4))]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sum(len(answer.json()["added"]) for answer in answers) == 1
    assert server.store.run("run-0020") == runs.run_of(20, 0.5)


def test_who_judges_a_run_alone_takes_it_from_the_list(server: Any) -> None:
    run = replace(runs.run_of(77, 0.5), id="judged elsewhere")
    before = server.store.judging()
    assert server.post("runs", content=schema.dumps(run).encode()).status_code == 200
    assert server.store.judging().waiting == before.waiting + 2
    for waited in (2, 0):
        assert server.put("runs/judged elsewhere/judged").json() == {"answer": waited}
        assert server.store.judging().waiting == before.waiting
    assert server.store.judging().judged == before.judged + 2
    assert server.put("runs/nobody knows it/judged").json() == {"answer": 0}


def test_a_run_says_what_it_does_now(server: Any) -> None:
    word = {"run": "under-way", "started_at": "2026-03-01T10:00:00+00:00", "planned": 4, "done": 1, "case": "a"}
    assert server.put("runs/under-way/progress", content=json.dumps(word)).status_code == 204
    assert [progress.done for progress in server.store.progress()] == [1]
    ended = json.dumps({**word, "phase": "ended"})
    assert server.put("runs/under-way/progress", content=ended).status_code == 204
    assert server.store.progress() == []


def test_who_uploaded_what_is_written_down(server: Any) -> None:
    run: Run = runs.run_of(21, 0.5)
    server.put(f"runs/{run.id}", content=header(run), headers=server.token("ci", "write"))
    lines = server.get("audit", params={"limit": 1}).json()
    assert [(line["who"], line["action"], line["what"]) for line in lines["lines"]] == [("ci", "upload run", run.id)]
    older = server.get("audit", params={"before": lines["next"]}).json()["lines"]
    assert older and all(line["id"] < lines["lines"][0]["id"] for line in older)


def test_another_value_under_a_known_id_is_refused_in_a_whole_run_too(server: Any) -> None:
    run: Run = runs.run_of(61, 0.5)
    document = {"Content-Type": "application/json"}
    assert server.post("runs", content=schema.dumps(run), headers=document).json()["added"] == [run.id]
    assert server.post("runs", content=schema.dumps(run), headers=document).json()["present"] == [run.id]
    first = run.results[0]
    metric = first.metrics[0]
    higher = replace(metric, estimate=replace(metric.estimate, point=2 * metric.estimate.point, low=None, high=None))
    other = replace(run, results=(replace(first, metrics=(higher, *first.metrics[1:])), replace(first, id="late")))
    for headers in (document, LINES):
        told = server.post("runs", content=schema.dumps(other).replace("\n", ""), headers=headers)
        assert told.status_code == 409 and "another result" in told.json()["error"]
    assert server.store.run(run.id) == run  # nor was the other result kept

"""The command line while a server is away, and what sends the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AWAY = "http://127.0.0.1:1/"


def test_a_run_whose_server_is_away_waits_here_and_can_go_to_another(
    inside: Callable[..., Any], desk: Any, tmp_path: Path, spool_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bench.py").write_text("def fast():\n    return sum(range(100))\n", encoding="utf-8")
    asked = ("run", "bench.py::fast", "--rounds", "1", "--duration", "0.02", "--warmup", "0", "--store", AWAY)
    measured = inside(*asked)
    assert measured.returncode == 0, measured.stderr
    said = " ".join(measured.stdout.split())
    assert f"saved in {spool_folder}" in said and f"until {AWAY} takes it" in said
    assert [f"benchwright store send {AWAY}" in text for text in caplog.messages] == [False, True]

    assert inside("list", "--store", AWAY).returncode == 2
    left = inside("store", "send")
    assert (left.returncode, left.stdout) == (1, f"{AWAY}: 0 sent, 0 refused, 2 waiting\n")
    assert inside("store", "send", "--to", desk.address).returncode == 2
    sent = inside("store", "send", AWAY, "--to", desk.address, "--json")
    assert sent.returncode == 0
    (told,) = json.loads(sent.stdout)["data"]
    assert (told["server"], told["sent"], told["waiting"]) == (AWAY, 2, 0)
    assert [line.split()[0] for line in desk.writes] == ["PUT", "PUT"]
    nothing = inside("store", "send")
    assert (nothing.returncode, nothing.stdout) == (0, "nothing waits\n")


def test_a_server_that_is_none_of_ours_ends_it_before_anything_is_measured(
    inside: Callable[..., Any], desk: Any, tmp_path: Path
) -> None:
    (tmp_path / "bench.py").write_text("def fast():\n    return 1\n", encoding="utf-8")
    desk.answers.append((200, {}, b"<html>a shop</html>"))
    asked = inside("run", "bench.py::fast", "--rounds", "1", "--duration", "0.02", "--store", desk.address)
    assert asked.returncode == 2 and "is no Benchwright server" in asked.stderr
    assert asked.stdout == "" and desk.writes == []


def test_a_list_says_what_was_measured_in_quarantine(inside: Callable[..., Any], desk: Any) -> None:
    run = {"id": "r1", "started_at": "2026-11-17T08:00:00+00:00", "results": 2, "planned": 2, "failed": 0}
    listed = {**run, "tags": [], "cases": ["resize"], "revision": None}
    desk.answers += [(200, {}, {"version": "1", "scopes": ["read"]}), (200, {}, {"answer": [listed]})]
    desk.answers.append((200, {}, {"answer": {"r1": 2}}))
    told = inside("list", "--store", desk.address)
    assert told.returncode == 0, told.stderr
    assert "2 results  2 in quarantine" in told.stdout
    desk.answers += [(200, {}, {"version": "1", "scopes": ["read"]}), (200, {}, {"answer": [listed]})]
    desk.fail(1, 404)  # a server of before
    assert "quarantine" not in inside("list", "--store", desk.address).stdout

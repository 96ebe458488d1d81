"""Well-formed frames with wrong content: whatever a worker says, the parent goes on and makes a record of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchwright.errors import ChannelError
from benchwright.execution import frames
from benchwright.execution.attempt import Attempt, AttemptOutcome, CopyAnswer
from benchwright.execution.hosts.local import LocalHost, LocalWorker
from benchwright.execution.rounds import execute
from benchwright.execution.session import Measuring, Plan
from benchwright.records import Case, Load, Status, Target
from benchwright.store import open_store
from benchwright.worker.channel import Frame, Job, unpack_samples

CASE = Case(
    name="a",
    target=Target(runtime="fake", uri="fake:constant?ms=1&clock=virtual"),
    load=Load(samples=20, warmup=0.0),
)
WRONG: tuple[Any, ...] = (None, "text", -1, 10**400, 1.5, True, [], {}, [None], {"a": []}, [[[]]])


class Overheard(LocalHost):
    """Keeps what its workers say."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[Frame] = []

    def launch(self, job: Job) -> LocalWorker:
        worker = super().launch(job)
        hear = worker.hear

        def heard() -> list[Frame] | None:
            messages = hear()
            self.said += messages or []
            return messages

        worker.hear = heard  # type: ignore[method-assign]
        return worker


@pytest.fixture(scope="module")
def said() -> dict[str, Frame]:
    """What a real worker says, by its kind."""
    host = Overheard()
    assert Attempt(CASE, host).run().status is Status.OK
    return {message.kind: message for message in host.said}


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in nested mappings and lists."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        if path[:1] != ("packages",):
            yield from _places(value, (*path, key))


def _changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a place; without it for `...`."""
    changed = inner = copy.deepcopy(data)
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("kind", ["ready", "measured"])
def test_a_frame_without_one_of_its_keys_is_refused(kind: str, said: dict[str, Frame]) -> None:
    message = said[kind]
    assert frames.check_frame(message) == message
    for name in message.data:
        with pytest.raises(ChannelError, match=f"'{kind}' cannot be used: .*{name}"):
            frames.check_frame(Frame(kind=kind, data=_changed(message.data, (name,), ...), arrays=message.arrays))


@pytest.mark.parametrize("kind", ["ready", "measured"])
def test_whatever_a_frame_holds_there_is_a_record(kind: str, said: dict[str, Frame], tmp_path: Path) -> None:
    """Every value in turn is taken away or replaced; what is not refused can be evaluated, kept and read back."""
    draw, message = random.Random(1), said[kind]
    refused = 0
    with Measuring(Plan(monitors=())) as measuring, closing(open_store(tmp_path / "results.db")) as store:
        store.begin(measuring.run)
        for number, path in enumerate(_places(message.data)):
            data = _changed(message.data, path, draw.choice([..., *WRONG]))
            try:
                changed = frames.check_frame(Frame(kind=kind, data=data, arrays=message.arrays))
            except ChannelError:
                refused += 1
                continue
            whole = {**said, kind: changed}
            samples = unpack_samples(whole["measured"].data["samples"], whole["measured"].arrays)
            answer = CopyAnswer(samples=samples, ready=whole["ready"].data, measured=whole["measured"].data)
            outcome = AttemptOutcome(status=Status.OK, answers=(answer,))
            result = measuring._result(number, CASE, 0, outcome, "2026-01-01T00:00:00+00:00", 1.0)
            assert result.status is Status.OK or (result.error is not None and result.error.message)
            store.add(measuring.id, result)
        assert refused > 15
        store.run(measuring.id)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        (("latency",), "'end'"),
        (("end",), "'latency'"),
        (("latency", "end", "service"), "'lateness', 'scheduled'"),
        (("latency", "end", "short"), "unequal length"),
        ((), "'end', 'latency'"),
    ],
)
def test_columns_that_do_not_fit_are_refused(arrays: tuple[str, ...], why: str, said: dict[str, Frame]) -> None:
    column = said["measured"].arrays["latency"]
    given = {name: column[:1] if name == "short" else column for name in arrays}
    with pytest.raises(ChannelError, match=why):
        frames.check_frame(Frame(kind="measured", data=said["measured"].data, arrays=given))


@pytest.mark.parametrize(
    "forged",
    [
        'Frame(kind="ready", data={})',
        'Frame(kind="ready", data={"clock": 7})',
        'Frame(kind="measured", data={"samples": None})',
        'Frame(kind="done", data={})',
        'Frame(kind="what", data={})',
    ],
)
def test_a_forged_frame_costs_one_result_and_the_next_case_is_measured(forged: str, tmp_path: Path) -> None:
    file = tmp_path / "forging.py"
    file.write_text(
        "import os, sys\n"
        "from benchwright.worker.channel import Frame, write_message\n"
        f"write_message(int(sys.argv[2]), bytes.fromhex(os.environ['BENCHWRIGHT_JOB']), {forged})\n"
        "def f(): pass\n",
        encoding="utf-8",
    )
    bad = Case(name="bad", target=Target(runtime="python", uri=f"{file}::f"), load=CASE.load)
    run = execute(Plan(cases=[bad, CASE], rounds=1, monitors=()))
    assert [result.status for result in run.results] == [Status.FAILED, Status.OK]
    assert run.results[0].error is not None
    assert run.results[0].error.kind == "channel"


def test_an_exception_without_words_and_one_with_too_many_are_told(tmp_path: Path) -> None:
    file = tmp_path / "raising.py"
    file.write_text(
        "class Mute(Exception):\n"
        "    def __str__(self): raise SystemExit(3)\n"
        "    __repr__ = __str__\n"
        "def mute(): raise Mute\n"
        "def loud(): raise ValueError('begin' + 'x' * 50_000_000 + 'end')\n",
        encoding="utf-8",
    )
    cases = [
        Case(name=name, target=Target(runtime="python", uri=f"{file}::{name}"), load=CASE.load)
        for name in ("mute", "loud")
    ]
    mute, loud = (result.error for result in execute(Plan(cases=cases, rounds=1, monitors=())).results)
    assert mute is not None and loud is not None
    assert (mute.kind, "its __str__ raised SystemExit" in mute.message) == ("Mute", True)
    assert loud.kind == "ValueError"
    assert loud.message.startswith("beginx") and loud.message.endswith("xend")
    assert "characters are left out here" in loud.message and len(loud.message) < 5000

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from benchwright.system.program_output import STDERR, STDOUT
from benchwright.targets.tasks.definition import ReadyCommand
from benchwright.worker.tasks.gpus import MIB, GpuWatch
from benchwright.worker.tasks.process import TreeMemory, follow


def _ready(*argv: str, folder: Path | None = None) -> ReadyCommand:
    return ReadyCommand(argv=argv, directory=folder or Path.cwd(), environment=dict(os.environ), num_gpus=0, workers=0)


def _shell(line: str, **options: Path) -> ReadyCommand:
    return _ready("/bin/sh", "-c", line, **options)


def _is_gone(pid: int) -> bool:
    """Whether the process has ended; one that was killed may take a moment."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_both_streams_are_heard_as_they_come_and_the_code_is_told() -> None:
    heard: list[tuple[bytes, int]] = []
    ended = follow(_shell("echo out; echo err >&2; exit 3"), lambda d, at, s: heard.append((d, s)), timeout=30)
    assert (ended.code, ended.timed_out, ended.left_behind) == (3, False, False)
    assert sorted(heard) == [(b"err\n", STDERR), (b"out\n", STDOUT)]


def test_lines_come_before_the_command_has_ended(tmp_path: Path) -> None:
    heard: list[bytes] = []

    def hear(data: bytes, at: float, stream: int) -> None:
        heard.append(data)
        (tmp_path / "heard").touch()

    ended = follow(
        _shell("echo 1; until test -e heard; do sleep 0.01; done; echo 2", folder=tmp_path), hear, timeout=60
    )
    assert heard == [b"1\n", b"2\n"] and not ended.timed_out


def test_a_command_that_takes_too_long_is_ended_with_all_it_started() -> None:
    heard = bytearray()
    line = "trap '' TERM; sleep 60 & echo $!; sleep 61 & echo $!; wait; sleep 62"
    ended = follow(_shell(line), lambda d, at, s: heard.extend(d), timeout=4.0)
    assert ended.timed_out and ended.code < 0
    pids = [int(word) for word in heard.split()]
    assert len(pids) == 2 and all(map(_is_gone, pids))


def test_what_a_command_leaves_behind_is_ended_and_told() -> None:
    heard, begin = bytearray(), time.monotonic()
    ended = follow(_shell("sleep 60 & echo $!"), lambda d, at, s: heard.extend(d), timeout=50)
    assert ended.code == 0 and ended.left_behind and not ended.timed_out
    assert time.monotonic() - begin < 30
    assert _is_gone(int(heard))


def test_a_flood_of_output_is_heard_whole() -> None:
    heard = 0

    def hear(data: bytes, at: float, stream: int) -> None:
        nonlocal heard
        heard += len(data)

    follow(
        _ready(sys.executable, "-c", "import os\nfor _ in range(200): os.write(1, b'x' * 100_000)"), hear, timeout=60
    )
    assert heard == 20_000_000


def test_the_command_runs_where_it_is_told_to(tmp_path: Path) -> None:
    heard = bytearray()
    follow(_shell("pwd", folder=tmp_path), lambda d, at, s: heard.extend(d), timeout=30)
    assert Path(heard.decode().strip()).samefile(tmp_path)


def test_memory_is_that_of_the_whole_tree_without_ours() -> None:
    memory = TreeMemory()
    script = "x = bytearray(b'x') * (64 << 20); import time; time.sleep(1.5)"
    follow(_shell(f'"{sys.executable}" -c "{script}"; true'), lambda d, at, s: None, timeout=60, look=memory.look)
    told = memory.stop()
    assert 64 << 20 < told["peak"] < 90 << 20  # type: ignore[operator]
    assert told["samples"] > 3 and 0 < told["mean"] <= told["peak"]  # type: ignore[operator]


def test_the_memory_of_a_short_command_is_never_ours() -> None:
    held = bytearray(b"x") * (64 << 20)  # the kernel's mark of a child begins with the size of its parent
    for _ in range(5):
        memory = TreeMemory()
        follow(_ready("/bin/true"), lambda d, at, s: None, timeout=60, look=memory.look)
        told = memory.stop()
        assert told["mean"] is None or 0 < told["peak"] < 32 << 20  # type: ignore[operator]
        assert (told["mean"] is None) == (told["samples"] == 0)
    assert len(held) == 64 << 20


def test_of_a_command_that_was_never_seen_the_memory_is_unknown() -> None:
    told = TreeMemory().stop()
    assert (told["mean"], told["peak"], told["samples"]) == (None, None, 0) and told["reason"]


# ---- GPUs, with a program in nvidia-smi's place ----


def _fake_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def _watched(count: int) -> GpuWatch:
    watch = GpuWatch(count, 1.0)
    watch.start()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and sum(s.count for s in watch._series.values()) < min(2, count) * 2:
        time.sleep(0.01)
    return watch


@pytest.mark.parametrize("count", [2, 3])
def test_each_gpu_has_its_mean_spread_and_peak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    rows = "echo '0, 100'; echo '1, 300 MiB'; echo '0, 200'; echo '1, 500'; echo 'rubbish'; exec sleep 60"
    _fake_smi(tmp_path, monkeypatch, rows)
    seen = _watched(count).stop()
    assert [(gpu["mean"], gpu["peak"], gpu["samples"]) for gpu in seen.details] == [
        (150 * MIB, 200 * MIB, 2),
        (400 * MIB, 500 * MIB, 2),
    ]
    assert seen.metrics[0].estimate.point == 500 * MIB
    assert [line.name for line in seen.timelines] == ["gpu0_memory_used", "gpu1_memory_used"]


def test_gpus_that_are_not_asked_for_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_smi(tmp_path, monkeypatch, "echo '0, 1'; echo '1, 3'; echo '0, 2'; exec sleep 60")
    assert [gpu["index"] for gpu in _watched(1).stop().details] == [0]


@pytest.mark.parametrize("script", ["exit 9", "echo 'No devices were found'"])
def test_a_machine_without_gpus_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    _fake_smi(tmp_path, monkeypatch, script)
    watch = GpuWatch(1, 1.0)
    watch.start()
    assert watch.stop().reason == "nvidia-smi listed no GPU"


def test_without_nvidia_smi_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    watch = GpuWatch(1, 1.0)
    watch.start()
    seen = watch.stop()
    assert "nvidia-smi" in seen.reason and not seen.details

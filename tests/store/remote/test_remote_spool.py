from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchwright.errors import StoreError
from benchwright.store.remote import spool as spools
from benchwright.store.remote.request import ServerRequest
from benchwright.store.remote.spool import Spool

SERVER = "https://bench.example/team/"


def _request(number: int, body: bytes = b"{}") -> ServerRequest:
    return ServerRequest(method="PUT", path=f"runs/{number}", body=body, what=f"run {number}")


def _paths(spool: Spool) -> list[str]:
    return [spool.read(entry).path for entry in spool.entries()]


def test_nothing_is_made_before_something_waits(spool_folder: Path) -> None:
    spool = Spool(SERVER)
    assert spool.is_empty and len(spool) == 0 and spool.entries() == [] and spool.refused_count == 0
    assert not spool_folder.exists()


def test_what_waits_comes_back_in_order_and_unchanged(spool_folder: Path) -> None:
    first, second = Spool(SERVER), Spool(SERVER)
    requests = [_request(0, b"\n\x00\xff{}\n"), _request(1), _request(2)]
    first.add(requests[0])
    second.add(requests[1])
    first.add(requests[2])
    assert [first.read(entry) for entry in first.entries()] == requests
    assert stat.S_IMODE(first.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in first.entries()} == {0o600}
    assert first.folder.parent == spool_folder and spools.servers() == [SERVER]


def test_a_clock_that_went_back_changes_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    Spool(SERVER).add(_request(0))
    monkeypatch.setattr(time, "time_ns", lambda: 5)
    later = Spool(SERVER)
    later.add(_request(1))
    later.add(_request(2))
    assert _paths(later) == ["runs/0", "runs/1", "runs/2"]


def test_servers_do_not_share_a_spool() -> None:
    for server in ("https://a.example/", "https://a.example/x/", "http://a.example/", "https://a.example:8443/"):
        Spool(server).add(_request(0))
        assert len(Spool(server)) == 1
    assert len(spools.servers()) == 4


def test_what_is_refused_is_kept_with_its_reason_and_can_come_back_in_its_place() -> None:
    spool = Spool(SERVER)
    for number in range(3):
        spool.add(_request(number))
    spool.refuse(spool.entries()[1], "too large")
    assert _paths(spool) == ["runs/0", "runs/2"] and spool.refused_count == 1
    assert [path.read_text() for path in (spool.folder / "refused").glob("*.txt")] == ["too large\n"]
    assert spool.take_back() == 1
    assert _paths(spool) == ["runs/0", "runs/1", "runs/2"]
    assert list((spool.folder / "refused").iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"\x00", b"{}\n{}", b'{"spool": 2, "length": 2}\n{}', b"[]\n", b"null\n"])
def test_a_damaged_entry_is_told_from_a_whole_one(damage: bytes) -> None:
    spool = Spool(SERVER)
    spool.add(_request(0))
    (entry,) = spool.entries()
    entry.write_bytes(damage)
    with pytest.raises(ValueError, match=r"damaged|Expecting|utf|char"):
        spool.read(entry)


def test_one_process_sends_at_a_time() -> None:
    mine, other = Spool(SERVER), Spool(SERVER)
    with mine.sending() as first, other.sending(patience=0.06) as second:
        assert (first, second) == (True, False)
    with other.sending() as now:
        assert now


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    script = (
        "import os; from benchwright.store.remote.spool import Spool\n"
        f"with Spool({SERVER!r}).sending() as ours:\n"
        "    os.write(1, str(ours).encode()); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (-9, "True")
    with Spool(SERVER).sending() as ours:
        assert ours


def test_a_disk_that_is_full_is_told_and_leaves_nothing_half_written(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(SERVER)
    spool.add(_request(0))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left on device") as caught:
        spool.add(_request(1))
    assert "BENCHWRIGHT_SPOOL" in caught.value.remedy
    assert _paths(spool) == ["runs/0"]
    assert sorted(path.suffix for path in spool.folder.iterdir()) == ["", ".entry"]


def test_what_a_killed_process_had_half_written_goes_after_a_while() -> None:
    spool = Spool(SERVER)
    spool.add(_request(0))
    old, new = spool.folder / "1.entry.7.partial", spool.folder / "2.entry.8.partial"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    with spool.sending():
        assert [old.exists(), new.exists(), len(spool)] == [False, True, 1]

import sqlite3
from pathlib import Path

import pytest

from benchwright.store import open_store
from benchwright.store.sqlite_file import VERSION_TABLE, looks_ready


def test_a_store_of_this_version_and_a_place_for_one_are_ready(tmp_path: Path) -> None:
    file = tmp_path / "new" / "results.db"
    assert looks_ready(str(file)) and looks_ready(f"sqlite:///{file}")
    assert not [*tmp_path.iterdir()]
    open_store(file).close()
    assert looks_ready(str(file))


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to look like one" * 40])
def test_other_files_need_more_than_a_glance(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "results.db"
    file.write_bytes(content)
    assert not looks_ready(str(file))
    assert file.read_bytes() == content


def test_another_version_needs_more_than_a_glance(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    open_store(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    assert not looks_ready(str(file))


def test_a_store_that_another_process_holds_needs_more_than_a_glance(tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    open_store(file).close()
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert not looks_ready(str(file))
    finally:
        holder.close()


def test_servers_need_more_than_a_glance() -> None:
    assert not looks_ready("postgresql://somewhere/else")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc on this system")
def test_a_place_that_only_looks_writable_is_not_ready() -> None:
    assert not looks_ready("/proc/self/fdinfo/results.db")  # where root may write, by the permissions
    assert not looks_ready("/proc/benchwright/results.db")


def test_a_place_that_cannot_hold_a_file_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert not looks_ready(str(tmp_path / "file" / "results.db"))

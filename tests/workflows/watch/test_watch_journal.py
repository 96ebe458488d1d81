"""A journal says where a watch was, whatever ended it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from benchwright.errors import DecodeError, OptionError
from benchwright.workflows.watch.journal import CommitState, JournalKind, JournalLine, WatchJournal, WatchState


def _add(journal: WatchJournal, *entries: JournalLine) -> None:
    for entry in entries:
        journal.add(entry)


def _read(folder: Path) -> WatchState:
    with WatchJournal(folder) as journal:
        return journal.state


def test_a_commit_that_did_not_end_is_taken_up_again(tmp_path: Path) -> None:
    with WatchJournal(tmp_path) as journal:
        _add(
            journal,
            JournalLine(what=JournalKind.STARTED, revision="a"),
            JournalLine(what=JournalKind.BEGAN, revision="b"),
            JournalLine(what=JournalKind.RUNNING, revision="b", run="r1"),
            JournalLine(what=JournalKind.ENDED, revision="b", run="r1", outcome=CommitState.MEASURED),
            JournalLine(what=JournalKind.JUDGED),
            JournalLine(what=JournalKind.BEGAN, revision="c"),
            JournalLine(what=JournalKind.RUNNING, revision="c", run="r2"),
        )
    state = _read(tmp_path)
    assert state.start is not None and (state.start.revision, state.start.inclusive) == ("a", False)
    assert (state.last, state.newest_run, state.unjudged) == ("b", "r1", None)
    assert state.begun is not None and (state.begun.revision, state.running) == ("c", "r2")


def test_a_commit_of_a_gap_is_wanted_until_it_ended_and_does_not_move_the_line(tmp_path: Path) -> None:
    with WatchJournal(tmp_path) as journal:
        _add(
            journal,
            JournalLine(what=JournalKind.ENDED, revision="f", run="r1", outcome=CommitState.MEASURED),
            JournalLine(what=JournalKind.GAP, finding="x", revisions=("d", "f", "c")),
            JournalLine(what=JournalKind.GAP, finding="y", revisions=("c", "b")),
            JournalLine(what=JournalKind.ENDED, revision="d", run="r2", outcome=CommitState.FAILED, backfill=True),
        )
    state = _read(tmp_path)
    assert state.wanted == ["c", "b"]
    assert (state.last, state.newest_run) == ("f", "r1")
    assert state.unjudged is not None and state.unjudged.revision == "d"


def test_what_could_not_be_built_has_nothing_to_judge(tmp_path: Path) -> None:
    with WatchJournal(tmp_path) as journal:
        _add(
            journal,
            JournalLine(what=JournalKind.ENDED, revision="a", run="r", outcome=CommitState.UNBUILT, why="exit code 3"),
        )
    state = _read(tmp_path)
    assert (state.last, state.newest_run, state.unjudged) == ("a", "", None)
    assert state.ended["a"].why == "exit code 3"


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_line_that_was_cut_off_never_happened(tmp_path: Path, cut: int) -> None:
    with WatchJournal(tmp_path) as journal:
        _add(
            journal,
            JournalLine(what=JournalKind.BEGAN, revision="a"),
            JournalLine(what=JournalKind.BEGAN, revision="b"),
        )
        file = journal.file
    file.write_bytes(file.read_bytes()[:-cut])
    with WatchJournal(tmp_path) as journal:
        assert journal.state.begun is not None and journal.state.begun.revision == "a"
        journal.add(JournalLine(what=JournalKind.ENDED, revision="a", outcome=CommitState.INTERRUPTED))
    assert _read(tmp_path).ended["a"].outcome is CommitState.INTERRUPTED


def test_a_line_that_the_disk_takes_only_a_part_of_is_refused_and_spoils_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with WatchJournal(tmp_path) as journal:
        journal.add(JournalLine(what=JournalKind.BEGAN, revision="a"))
        before = journal.file.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
        try:
            with pytest.raises(OptionError, match="cannot be written"):
                journal.add(JournalLine(what=JournalKind.BEGAN, revision="b"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert journal.file.read_bytes() == before
        assert journal.state.begun is not None and journal.state.begun.revision == "a"
        journal.add(JournalLine(what=JournalKind.BEGAN, revision="c"))
    state = _read(tmp_path)
    assert state.begun is not None and state.begun.revision == "c"


def test_what_could_not_be_built_may_be_wanted_once_more(tmp_path: Path) -> None:
    with WatchJournal(tmp_path) as journal:
        _add(
            journal,
            JournalLine(what=JournalKind.ENDED, revision="a", outcome=CommitState.UNBUILT),
            JournalLine(what=JournalKind.RETRIED, revisions=("a", "unknown")),
        )
    state = _read(tmp_path)
    assert (state.wanted, state.ended, state.last) == (["a"], {}, "a")


def test_a_line_that_makes_no_sense_is_told_with_its_place(tmp_path: Path) -> None:
    with WatchJournal(tmp_path) as journal:
        journal.add(JournalLine(what=JournalKind.BEGAN, revision="a"))
        file = journal.file
    file.write_text(file.read_text() + '{"what": "begun"}\n')
    with pytest.raises(DecodeError, match=r"journal\.jsonl:2"), WatchJournal(tmp_path):
        pass
    file.write_text("nonsense\n")
    with pytest.raises(DecodeError, match=r"journal\.jsonl:1"), WatchJournal(tmp_path):
        pass


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        WatchJournal(tmp_path),
        pytest.raises(OptionError, match="another process already watches this"),
        WatchJournal(tmp_path),
    ):
        pass
    with WatchJournal(tmp_path):
        pass

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchwright import schema
from benchwright.errors import DecodeError, OptionError
from benchwright.exchange.named_runs import RunFinder, find_run, find_runs
from benchwright.records import Run
from benchwright.records.machines import Quarantine


class OneRun:
    """A store with one run."""

    def __init__(self, run: Run) -> None:
        self.held, self.closed = run, False

    def find(self, reference: str) -> str:
        assert reference == "last"
        return self.held.id

    def run(self, run_id: str, *, samples: bool = True) -> Run:
        assert run_id == self.held.id
        return self.held

    def quarantines(self, machine: str = "") -> list[Quarantine]:
        return []

    def close(self) -> None:
        self.closed = True


def read(path: str) -> Iterator[Run]:
    for line in Path(path).read_text().splitlines():
        yield schema.loads(line, Run, where=path)


def never() -> RunFinder:
    raise AssertionError("the store was opened")


def test_a_reference_goes_to_the_store_which_is_closed_again(run: Run) -> None:
    store = OneRun(run)
    assert find_run("last", lambda: store, read) is run
    assert store.closed


def test_files_are_read_without_a_store(run: Run, tmp_path: Path) -> None:
    document, lines = tmp_path / "run.json", tmp_path / "runs.jsonl"
    document.write_text(schema.dumps(run, indent=2))
    lines.write_text(schema.dumps(run) + "\n" + schema.dumps(run) + "\n")
    assert find_run(str(document), never, read) == run
    assert len(find_runs(str(lines), never, read)) == 2
    with pytest.raises(OptionError, match="holds 2 runs"):
        find_run(str(lines), never, read)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no such file"):
        find_run(str(tmp_path / "none.jsonl"), never, read)


FOREIGN = Path(__file__).with_name("files")


@pytest.mark.parametrize(
    "name",
    [
        *("google-benchmark.json", "pytest-benchmark.json", "hyperfine.json", "pyperf.json"),
        *("asv", "asv/box/4f1e0d2c-virtualenv-py3.12.json", "loadgen", "loadgen/mlperf_log_summary.txt"),
    ],
)
def test_files_of_other_tools_are_read_as_import_reads_them(name: str) -> None:
    assert find_run(f"{FOREIGN}/{name}", never, read).results


def test_a_file_of_nobody_says_what_was_tried(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    with pytest.raises(DecodeError, match=r"x\.json: neither a Benchwright document nor a file of google-benchmark"):
        find_run(str(path), never, read)


def test_a_run_of_a_case_is_no_file_whatever_the_case_is_called(run: Run) -> None:
    class OfACase(OneRun):
        def find(self, reference: str) -> str:
            assert reference == "last~1:spec.json"
            return self.held.id

    assert find_run("last~1:spec.json", lambda: OfACase(run), read) is run


def test_rubbish_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DecodeError, match=r"x\.json"):
        find_run(str(path), never, read)

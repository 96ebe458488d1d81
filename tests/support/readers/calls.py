"""Calls every reader of what comes from elsewhere on one file.

A call may end, or end with an error of ours. Where an error is turned into a sentence further up, the call does so too.
"""

from __future__ import annotations

import io
import os
import random
import warnings
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from benchwright import config, exchange, records, schema
from benchwright.cli import dispatch, main
from benchwright.cloud.providers.settings import read_document, read_ini
from benchwright.cloud.providers.skypilot import parse_clusters
from benchwright.prices import shelf
from benchwright.prices.lists import read_list
from benchwright.prices.own import load_own
from benchwright.stats import hdr
from readers import seeds

Call = Callable[[Path, random.Random], None]


def call_verb(*arguments: str) -> None:
    """Runs a verb in this process: 0, 1 or 2, and no traceback."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")  # as Python's own
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "_silence_stdout", out.flush)
        code = main(arguments)
        out.flush()
        err.flush()
    assert code in (0, 1, 2), code
    assert b"Traceback" not in err.buffer.getvalue(), err.buffer.getvalue()


def show(path: Path, draw: random.Random) -> None:
    file = str(path)
    ways: tuple[tuple[str, ...], ...] = (
        ("show", file),
        ("show", file, "--json"),
        ("show", file, "--format", "csv"),
        ("show", file, "--raw-samples"),
        ("show", file, "--format", "markdown"),
        ("show", file, "--format", "perfzero"),
        ("show", file, "--format", "harness"),
        ("show", file, "--plot"),
        ("show", file, "--worker-log"),
        ("compare", file, str(right_document(path))),
        ("compare", str(right_document(path)), file),
        ("report", file, "-o", str(path.with_suffix(".html")), "--force"),
        ("operators", file),
        ("scaling", file),
        ("import", "--store", str(path.with_name("kept.db")), str(as_line(path))),
    )
    call_verb(*draw.choice(ways))


def right_document(path: Path) -> Path:
    right = path.with_name("right.json")
    if not right.exists():
        right.write_bytes(seeds.document()[0])
    return right


def as_line(path: Path) -> Path:
    line = path.with_name("line.jsonl")
    line.write_bytes(path.read_bytes().replace(b"\n", b" "))
    return line


def bring(path: Path, draw: random.Random) -> None:
    call_verb("import", str(path), "--store", str(path.with_name("kept.db")))
    if draw.random() < 0.1:
        call_verb(
            *draw.choice((("list",), ("history", "*"), ("show", "last"))), "--store", str(path.with_name("kept.db"))
        )


def bring_as(name: str) -> Call:
    def call(path: Path, draw: random.Random) -> None:
        runs = [*exchange.read_runs(str(path), format=name)]
        out = path.with_name("imported.json")
        out.write_text(schema.dumps(runs[0]))
        if draw.random() < 0.3:
            show(out, draw)

    return call


def bring_folder(name: str, inner: str, others: tuple[Path, ...]) -> Call:
    """A folder of which one file is wrong."""

    def call(path: Path, draw: random.Random) -> None:
        folder = path.parent / name
        (folder / inner).parent.mkdir(parents=True, exist_ok=True)
        for other in others:
            (folder / other.name).write_bytes(other.read_bytes())
        (folder / inner).write_bytes(path.read_bytes())
        [*exchange.read_runs(str(folder), format=name)]

    return call


def settings(path: Path, draw: random.Random) -> None:
    config.load(path.parent)


def tokens(path: Path, draw: random.Random) -> None:
    from benchwright.store.remote import address

    place = path.parent / "benchwright" / address.FILE
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(path.read_bytes())
    place.chmod(0o600)
    before = os.environ.get("XDG_CONFIG_HOME")
    os.environ["XDG_CONFIG_HOME"] = str(path.parent)
    try:
        address.parse("http://127.0.0.1:1/")
    finally:
        os.environ.pop("XDG_CONFIG_HOME")
        if before is not None:
            os.environ["XDG_CONFIG_HOME"] = before


def asv_settings(path: Path, draw: random.Random) -> None:
    from benchwright.targets.asv.config import read_config

    read_config(str(path))


def traces(path: Path, draw: random.Random) -> None:
    from benchwright.worker.tasks.traces import read_communication

    read_communication(path.parent)


def tasks(path: Path, draw: random.Random) -> None:
    log = path.with_name("a.log")
    log.write_text("loss 1.0\nspeed 10 images/s\n")
    call_verb(
        *draw.choice(
            (("tasks", "check", str(path)), ("tasks", "check", str(path), "--log", str(log)), ("list", str(path)))
        )
    )


def cloud_settings(path: Path, draw: random.Random) -> None:
    read_ini(path)
    read_document(path)


def clusters(path: Path, draw: random.Random) -> None:
    parse_clusters(path.read_text(encoding="utf-8", errors="replace"))


def own_prices(path: Path, draw: random.Random) -> None:
    load_own(path)


def price_list(path: Path, draw: random.Random) -> None:
    read_list(path, provider="aws")


def kept_prices(path: Path, draw: random.Random) -> None:
    list(shelf.read_kept(path))


def spec(path: Path, draw: random.Random) -> None:
    call_verb("spec", "check", "--no-network", str(path))


def older_spec(path: Path, draw: random.Random) -> None:
    ways = (
        ("spec", "check", "--no-network", str(path)),
        ("spec", "convert", str(path)),
        ("harness", "--benchmark_file", str(path), "--platform", "host", "--framework", "generic", "--dry-run"),
    )
    call_verb(*draw.choice(ways))


def numbers(path: Path, draw: random.Random) -> None:
    from benchwright.worker.runtimes.inputs import array_files, feeds

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's, of files that Python 2 wrote
        if draw.random() < 0.5:
            feeds._from_file(path)
        else:
            array_files.read(str(path), "a")


def text_numbers(path: Path, draw: random.Random) -> None:
    from benchwright.worker.runtimes.inputs import array_files

    array_files.read(str(path), "a", (3,))


def trace(path: Path, draw: random.Random) -> None:
    from benchwright.worker.engine import arrivals

    arrivals._read_trace(records.Load(mode=records.Mode.OPEN, trace=str(path)))


def prompts(path: Path, draw: random.Random) -> None:
    from benchwright.worker.endpoints.exchanges import ExchangeSpec, make_exchanges

    turns = draw.choice(("1", "2", "all"))
    for each in make_exchanges(ExchangeSpec(source=str(path), turns=turns), 100):
        repr(each).encode()


def spooled(path: Path, draw: random.Random) -> None:
    from benchwright.store.remote import sender
    from benchwright.store.remote.spool import Spool

    spool = Spool("http://127.0.0.1:1/")
    spool._make()
    (spool.folder / "00000000000000000001-a.entry").write_bytes(path.read_bytes())
    with redirect_stderr(io.StringIO()):
        sender.Outbox(lambda request, silence=0.0: {}, spool).finish()  # type: ignore[arg-type]
    for left in spool.folder.rglob("*.entry"):
        left.unlink()


def told(path: Path, draw: random.Random) -> None:
    from benchwright.notify.journal import DeliveryJournal

    with DeliveryJournal(path).hold():
        pass


def watched(path: Path, draw: random.Random) -> None:
    from benchwright.workflows.watch import journal as watching

    watching._read(path)


def ledger(path: Path, draw: random.Random) -> None:
    from datetime import UTC, datetime

    from benchwright.cli import cloud_views
    from benchwright.cloud.ledger import CloudLedger
    from benchwright.workflows.cloud import SeenMachine

    now = datetime(2026, 1, 2, tzinfo=UTC)
    for machine in CloudLedger(path).machines():
        seen = SeenMachine(known=machine, trouble="not asked")
        cloud_views.document(seen, now)
        cloud_views.machine_lines(seen, now)


def index(path: Path, draw: random.Random) -> None:
    from benchwright.compat.neuronperf import model_index

    model_index.load(path)


def summaries(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import differences
    from benchwright.exchange.importers import perfzero
    from benchwright.schema.parsing import json_value

    found, _ = differences.differences(path.parent)
    [str(one) for one in found]
    perfzero.run_of(json_value(path.read_bytes()), received_at="2026-01-02T03:04:05+00:00")


def process_log(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import plots

    plots.read(path)


def harness_info(path: Path, draw: random.Random) -> None:
    from benchwright.compat.harness import info
    from benchwright.compat.harness.flags import json_object, parse_names

    info._read(str(path))
    text = path.read_bytes().decode("utf-8", "replace")
    json_object(text, "--info")
    parse_names(text)


def harness_results(path: Path, draw: random.Random) -> None:
    from benchwright.compat.harness import detection

    detection._read_object(path)


def distribution(path: Path, draw: random.Random) -> None:
    hdr.decode_v2(path.read_bytes().decode("utf-8", "replace"))


def cache_note(path: Path, draw: random.Random) -> None:
    from benchwright.fetch.cache_shelf import Shelf

    shelf = Shelf(root=path.parent)
    note = shelf._note("a" * 64)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(path.read_bytes())
    shelf.read("a" * 64)


def partial_note(path: Path, draw: random.Random) -> None:
    from benchwright.fetch.partials import Partial

    partial = Partial(target=path.with_name("model.onnx"))
    partial.path.touch()
    partial._note_path.write_bytes(path.read_bytes())
    partial.note("http://127.0.0.1:1/model.onnx")


def build_mark(path: Path, draw: random.Random) -> None:
    from benchwright.execution import builds

    class Kept(builds.Builder):
        def __init__(self) -> None:
            pass

        def _answer(self, place: Path, revision: records.Revision, python: str) -> builds.BuiltRevision:
            return builds.BuiltRevision(revision=revision, folder=place, python=python, log=place)

    (path.parent / "work").mkdir(exist_ok=True)
    (path.parent / builds.MARK).write_bytes(path.read_bytes())
    Kept()._find_built(path.parent, records.Revision(vcs="git", id="a" * 40))


def project(path: Path, draw: random.Random) -> None:
    from benchwright.execution.builds import surroundings

    surroundings.needs_of(path.parent)


def device(path: Path, draw: random.Random) -> None:
    from benchwright.machine.devices import listing

    listing._split_description(path.read_bytes().decode("utf-8", "replace"))


def constructor(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import flags
    from benchwright.worker.runtimes import classes

    text = path.read_bytes().decode("utf-8", "replace")
    flags.json_object(text, "constructor")
    classes._json_object(text)


def accelerators(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import systems

    text = path.read_bytes().decode("utf-8", "replace")
    systems._amd(text)
    systems.nvidia(text)


def signature(path: Path, draw: random.Random) -> None:
    from benchwright.targets import signatures

    signatures.read(path)


def exported(path: Path, draw: random.Random) -> None:
    """The program inside of an archive, whose other bytes are right or not."""
    from benchwright.targets import signatures

    program = path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/models/model.json", program)
    body = bytearray(packed.getvalue())
    if draw.random() < 0.3:
        body[draw.randrange(len(body))] ^= 1 << draw.randrange(8)
    path.write_bytes(body)
    signatures.read(path)


def made_environment(path: Path, draw: random.Random) -> None:
    from benchwright.execution.outposts.installer import key_of
    from benchwright.execution.outposts.orders import EnvironmentOrder
    from benchwright.lab.environments import EnvironmentShelf

    order = EnvironmentOrder()
    path.replace(path.with_name(f"{key_of(order)}.json"))
    EnvironmentShelf(path.parent).find(order)

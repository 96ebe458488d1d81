"""Every reader of what comes from elsewhere: what it reads, and how it is called.

A call may end, or end with an error of ours. Where the program gives up with another error of its own and somebody above
turns it into a sentence, the call does what that somebody does.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import runpy
from array import array
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import pytest

from benchwright import config, interop, records, schema
from benchwright.cli import dispatch, main
from benchwright.findings import Finding, Verdict
from benchwright.stats import hdr, histogram

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = ROOT / "tests" / "interop" / "files"
MUTATIONS = runpy.run_path(str(HERE / "mutations.py"))
Call = Callable[[Path, random.Random], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Files of one kind: `file` is the name that they need, `bodies` are right ones, `modules` read them."""

    file: str
    bodies: Callable[[], list[bytes]]
    call: Call
    modules: tuple[str, ...]
    ways: tuple[str, ...] = ("by_structure", "by_token", "by_byte")


def call_verb(*arguments: str) -> None:
    """Runs a verb in this process: 0, 1 or 2, and no traceback."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "_silence_stdout", out.flush)
        code = main(arguments)
        out.flush()
        err.flush()
    assert code in (0, 1, 2), code
    assert b"Traceback" not in err.buffer.getvalue(), err.buffer.getvalue()  # type: ignore[attr-defined]


# ---- right files ----


def run() -> records.Run:
    """A run that has something in every field."""
    calls = array("q", [1000, 1100, 900, 1200])
    samples = records.Samples(
        copy=0,
        calls=8,
        loops=2,
        elapsed=5000,
        columns={"latency": calls, "end": array("q", [1000, 2100, 3000, 4200])},
        histograms={"latency": histogram.fold(calls)},
    )
    metrics = tuple(
        records.Metric(
            name=name,
            unit=unit,
            better=better,
            estimate=records.Estimate(point=value, low=value / 2, high=value * 2, method="bootstrap"),
            count=4,
            values=(value,) * 3,
            most=value * 3,
        )
        for name, unit, better, value in (
            ("latency_p50", "s", records.Better.LOWER, 1e-3),
            ("latency", "s", records.Better.LOWER, 1.1e-3),
            ("throughput", "/s", records.Better.HIGHER, 900.0),
            ("rss_peak", "B", records.Better.LOWER, 1e8),
        )
    )
    environment = records.Environment(
        machine={"cpu": "A CPU", "cores": 2, "memory": 1 << 34, "caches": {"L1": 32768}},
        system={"os": "Linux", "architecture": "x86_64", "host": "box"},
        runtimes={"onnxruntime": "1.24"},
        packages={"numpy": "2.1"},
        knobs={"governor": "powersave"},
        collected_at="2026-01-02T03:04:05+00:00",
    )
    result = records.Result(
        id="r1",
        case=records.Case(
            name="tiny",
            target=records.Target(runtime="fake", uri="a.fake"),
            params={"batch_size": 8, "provider": "cpu"},
        ),
        round=0,
        status=records.Status.OK,
        environment=environment,
        started_at="2026-01-02T03:04:05+00:00",
        duration=1.5,
        revision=records.Revision(vcs="git", id="a" * 40, branch="main", committed_at="2026-01-01T00:00:00+00:00"),
        metrics=metrics,
        samples=(samples,),
        timelines=(records.Timeline(name="rss", unit="B", seconds=(0.0, 1.0), values=(1.0, 2.0)),),
        details={"providers": ["cpu"], "model": {"nodes": 3}},
        instrument={"verdict": "reliable", "clock_cost": 1e-8},
        warnings=(records.ResultWarning(code="few", seen="few calls", remedy="more"),),
        artifacts=(records.Artifact(name="trace", kind="trace", path="/tmp/none", size=3),),
        operators=(records.Operator(name="n", kind="Conv", seconds=1e-3, share=0.5),),
        log_tail="a word\n",
    )
    failed = replace(
        result,
        id="r2",
        status=records.Status.FAILED,
        metrics=(),
        samples=(),
        error=records.Failure(kind="ValueError", message="no", log_tail="line\n"),
    )
    return records.Run(
        id="20260102T030405000-abc",
        started_at="2026-01-02T03:04:05+00:00",
        harness="0.1.0",
        command=("benchwright", "run"),
        results=(result, replace(result, id="r3", round=1), failed),
        tags=("nightly",),
        planned=3,
    )


def document() -> list[bytes]:
    return [schema.dumps(run()).encode()]


def lines() -> list[bytes]:
    return [document()[0] + b"\n" + schema.dumps(replace(run(), id="another")).encode() + b"\n"]


def of(*places: Path) -> Callable[[], list[bytes]]:
    return lambda: [place.read_bytes() for place in places]


def parquet_file() -> list[bytes]:
    from benchwright.store import parquet

    file = io.BytesIO()
    parquet.write([run()], file)
    return [file.getvalue()]


def arrays() -> list[bytes]:
    stored, packed = io.BytesIO(), io.BytesIO()
    numpy.savez(stored, a=numpy.arange(6.0).reshape(2, 3), b=numpy.arange(3))
    numpy.savez_compressed(packed, a=numpy.arange(6.0).reshape(2, 3))
    return [stored.getvalue(), packed.getvalue()]


def array_file() -> list[bytes]:
    file = io.BytesIO()
    numpy.save(file, numpy.arange(6.0).reshape(2, 3))
    return [file.getvalue()]


def finding() -> Finding:
    estimate = records.Estimate(point=1.0, low=0.9, high=1.1)
    return Finding(
        id="f1",
        series="s",
        before=estimate,
        after=estimate,
        effect=estimate,
        method="changepoint",
        verdict=Verdict.WORSE,
        case="tiny",
        params='{"batch_size":8}',
        metric="latency_p50",
        unit="s",
        confidence=0.99,
        found_at="2026-01-02T03:04:05+00:00",
        why={"packages": ["numpy"]},
    )


# ---- calls ----


def show(path: Path, draw: random.Random) -> None:
    file = str(path)
    ways: tuple[tuple[str, ...], ...] = (
        ("show", file),
        ("show", file, "--json"),
        ("show", file, "--format", "csv"),
        ("show", file, "--samples"),
        ("show", file, "--format", "markdown"),
        ("show", file, "--format", "perfzero"),
        ("show", file, "--format", "harness"),
        ("show", file, "--plot"),
        ("show", file, "--log"),
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
        right.write_bytes(document()[0])
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
        runs = [*interop.read_runs(str(path), format=name)]
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
        [*interop.read_runs(str(folder), format=name)]

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


def tasks(path: Path, draw: random.Random) -> None:
    log = path.with_name("a.log")
    log.write_text("loss 1.0\nspeed 10 images/s\n")
    call_verb(
        *draw.choice(
            (("tasks", "check", str(path)), ("tasks", "check", str(path), "--log", str(log)), ("list", str(path)))
        )
    )


def spec(path: Path, draw: random.Random) -> None:
    call_verb("spec", "check", "--offline", str(path))


def older_spec(path: Path, draw: random.Random) -> None:
    ways = (
        ("spec", "check", "--offline", str(path)),
        ("spec", "convert", str(path)),
        ("harness", "--benchmark_file", str(path), "--platform", "host", "--framework", "generic", "--dry-run"),
    )
    call_verb(*draw.choice(ways))


def numbers(path: Path, draw: random.Random) -> None:
    from benchwright.runtimes import array_files, inputs

    if draw.random() < 0.5:
        inputs._from_file(path)
    else:
        array_files.read(str(path), "a")


def text_numbers(path: Path, draw: random.Random) -> None:
    from benchwright.runtimes import array_files

    array_files.read(str(path), "a", (3,))


def trace(path: Path, draw: random.Random) -> None:
    from benchwright.measure import load

    load._trace(records.Load(mode=records.Mode.OPEN, trace=str(path)))


def spooled(path: Path, draw: random.Random) -> None:
    from benchwright.store.remote import sending
    from benchwright.store.remote.spool import Spool

    spool = Spool("http://127.0.0.1:1/")
    spool._make()
    (spool.folder / "00000000000000000001-a.entry").write_bytes(path.read_bytes())
    with redirect_stderr(io.StringIO()):
        sending.Outbox(lambda request, silence=0.0: {}, spool).finish()  # type: ignore[arg-type]
    for left in spool.folder.rglob("*.entry"):
        left.unlink()


def spool_entry() -> list[bytes]:
    head = {"spool": 1, "length": 2, "at": 1.0, "method": "PUT", "path": "runs/a", "kind": "application/json"}
    head |= {"packed": False, "file": "", "size": 0, "what": "run a", "repeatable": True}
    return [json.dumps(head).encode() + b"\n{}"]


def told(path: Path, draw: random.Random) -> None:
    from benchwright.notify.journal import Journal

    with Journal(path).held():
        pass


def journal() -> list[bytes]:
    due = {
        "at": "2026-01-02T03:04:05+00:00",
        "what": "due",
        "targets": ["webhook"],
        "finding": json.loads(schema.dumps(finding())),
    }
    more = [
        {"at": due["at"], "what": what, "target": "webhook", "findings": ["f1"], "pause": 1.0}
        for what in ("trying", "failed", "told", "over", "withdrawn", "dropped")
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in (due, *more))]


def watched(path: Path, draw: random.Random) -> None:
    from benchwright.watching import journal as watching

    watching._read(path)


def watch_journal() -> list[bytes]:
    entries = [
        {"what": "started", "revision": "a", "at": "2026-01-02T03:04:05+00:00"},
        {"what": "ended", "revision": "a", "outcome": "measured", "run": "r"},
    ]
    return [b"".join(json.dumps(line).encode() + b"\n" for line in entries)]


def index(path: Path, draw: random.Random) -> None:
    from benchwright.compat.neuronperf import model_index

    model_index.load(path)


def summaries(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import differences
    from benchwright.interop import perfzero
    from benchwright.parsing import json_value

    found, _ = differences.differences(path.parent)
    [str(one) for one in found]
    perfzero.run_of(json_value(path.read_bytes()), received_at="2026-01-02T03:04:05+00:00")


def summary() -> list[bytes]:
    from benchwright.compat.perfzero import exporting

    return [exporting.document(replace(run(), results=run().results[:1])).encode()]


def process_log(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import plotting

    plotting.read(path)


def harness_info(path: Path, draw: random.Random) -> None:
    from benchwright.compat.harness import info
    from benchwright.compat.harness.flags import json_object, names

    info._read(str(path))
    text = path.read_bytes().decode("utf-8", "replace")
    json_object(text, "--info")
    names(text)


def harness_results(path: Path, draw: random.Random) -> None:
    from benchwright.compat.harness import detection

    detection._object(path)


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


def noted() -> list[bytes]:
    from dataclasses import asdict

    from benchwright.fetch.partials import Note

    return [json.dumps(asdict(Note.of("http://127.0.0.1:1/model.onnx", validator='"a"', total=10))).encode()]


def answered(path: Path, draw: random.Random) -> None:
    """Every verb of a store on a server, to which this is the answer."""
    from benchwright.errors import StoreError
    from benchwright.store import remote
    from benchwright.store.remote.calling import Answer, Caller
    from benchwright.store.remote.spool import Spool

    class Told(Caller):
        def _once(self, request: Any, silence: float) -> Answer:
            return Answer(
                status=draw.choice((200, 200, 200, 404, 503)), reason="", headers={}, content=path.read_bytes()
            )

    before, remote.Caller = remote.Caller, Told  # type: ignore[misc]
    try:
        with suppress(StoreError):
            remote.RemoteStore("http://127.0.0.1:1/")
        store = remote.RemoteStore.__new__(remote.RemoteStore)
        store._caller = Told(remote.address.parse("http://127.0.0.1:1/"))
        store._place, store._scopes = "http://127.0.0.1:1/", None
        store._outbox = remote.Outbox(store._caller, Spool(store._place))
        verb: Callable[[], Any] = draw.choice(
            (
                store.runs,
                store.case_names,
                store.findings,
                store.thresholds,
                store.mutes,
                lambda: list(store.run_ids()),
                lambda: store.history("*"),
                lambda: store.misses("*"),
                lambda: store.find("last"),
                lambda: store.run("a"),
                lambda: store.samples("a"),
                lambda: store.keep_finding(finding()),
            )
        )
        verb()
    finally:
        remote.Caller = before  # type: ignore[misc]
        store._caller.close()


def server_answers() -> list[bytes]:
    from benchwright.store import RunSummary  # noqa: F401

    encoded = schema.encode([finding()])
    return [
        json.dumps({"version": "1", "scopes": ["read"], "answer": []}).encode(),
        json.dumps({"answer": encoded}).encode(),
        json.dumps({"error": "no", "remedy": "yes"}).encode(),
        json.dumps({"answer": schema.encode(run().results[0].samples)}).encode(),
        document()[0],
    ]


def posted(path: Path, draw: random.Random) -> None:
    """What a server is sent."""
    from fastapi import HTTPException

    from benchwright.server import documents
    from benchwright.server.settings import Limits

    body = path.read_bytes()
    with suppress(HTTPException):
        documents.run_of(body, Limits())
    with suppress(HTTPException):
        documents.result_of(body, Limits())


def compressed_body(path: Path, draw: random.Random) -> None:
    from fastapi import HTTPException

    from benchwright.server import bodies

    with suppress(HTTPException):
        unpack = bodies._Gunzip(200)
        [*unpack(path.read_bytes())]
        unpack.end()


def build_mark(path: Path, draw: random.Random) -> None:
    from benchwright import builds

    (path.parent / "work").mkdir(exist_ok=True)
    (path.parent / builds.MARK).write_bytes(path.read_bytes())
    made = builds.Builder.__new__(builds.Builder)
    made._command, made._python = (), "python3"
    made._kept(path.parent, records.Revision(vcs="git", id="a" * 40))


def device(path: Path, draw: random.Random) -> None:
    from benchwright.devices import listing

    listing._described(path.read_bytes().decode("utf-8", "replace"))


def constructor(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import flags
    from benchwright.runtimes import classes

    text = path.read_bytes().decode("utf-8", "replace")
    flags.json_object(text, "constructor")
    classes._json_object(text)


def notices(path: Path, draw: random.Random) -> None:
    from benchwright.interop import posting
    from benchwright.notify.calling import Answer

    Answer(status=200, headers={}, text=path.read_bytes()).json()
    posting._said(_Said(path.read_bytes()))  # type: ignore[arg-type]


class _Said(io.BytesIO):
    code = 500


def accelerators(path: Path, draw: random.Random) -> None:
    from benchwright.compat.perfzero import systems

    text = path.read_bytes().decode("utf-8", "replace")
    systems._amd(text)
    systems.nvidia(text)


_OLDER_TASKS = b"""[task]
patterns = ["speed (\\\\d+)", "loss (.*)"]
metrics = ["speed", "loss"]
compute_method = ["average", "last"]
command_to_execute = python3 train.py --gpus {0}
num_gpus = 1
"""
_SETTINGS = b"""store = "results.db"
tags = ["a"]
rounds = 3
duration = 1.5
[notify]
targets = ["webhook+https://127.0.0.1/"]
per_hour = 3
[retention]
samples = "90d"
"""
_INDEX = b"""{"version": "1", "model_name": "m", "model_configs": [{"filename": "a.onnx", "input_idx": 0, "batch_size": 1,
 "pipeline_size": 1, "performance_level": 1, "cast_mode": "", "compile_s": 1.0}]}"""
_PROCESS = b'{"time": 1.0, "cpu": 3.0, "rss": 100}\n{"time": 2.0, "cpu": 4.0, "rss": 110}\n'
TEXT = ("by_token", "by_byte")
BYTES = ("by_byte",)

READERS: dict[str, Reader] = {
    "settings": Reader(file="benchwright.toml", bodies=lambda: [_SETTINGS], call=settings, modules=("config",), ways=TEXT),
    "tokens": Reader(
        file="tokens.toml",
        bodies=lambda: [b'"http://127.0.0.1:1/" = "abc"\n"https://b/" = "c"\n'],
        call=tokens,
        modules=("store.remote.address",),
        ways=TEXT,
    ),
    "tasks": Reader(file="tasks.toml", bodies=of(ROOT / "examples" / "tasks.toml"), call=tasks, modules=("tasks.toml_form",), ways=TEXT),
    "older tasks": Reader(file="tasks.cfg", bodies=lambda: [_OLDER_TASKS], call=tasks, modules=("tasks.old_form",), ways=TEXT),
    "spec": Reader(file="spec.yaml", bodies=of(ROOT / "examples" / "specs" / "basic-pitch.yaml"), call=spec, modules=("specs.places",), ways=TEXT),
    "older spec": Reader(file="spec.json", bodies=of(*sorted((ROOT / "examples" / "harness").glob("*.json"))), call=older_spec, modules=("specs.json_text",)),
    "document": Reader(file="run.json", bodies=document, call=show, modules=("schema", "report.files", "store.codec", "store.columns")),
    "lines": Reader(file="runs.jsonl", bodies=lines, call=bring, modules=("store.transfer",), ways=TEXT),
    "packed lines": Reader(
        file="runs.jsonl.gz", bodies=lambda: [gzip.compress(lines()[0], mtime=0)], call=bring, modules=("store.transfer",), ways=BYTES
    ),
    "parquet": Reader(file="runs.parquet", bodies=parquet_file, call=bring, modules=("store.parquet",), ways=BYTES),
    "google-benchmark": Reader(file="a.json", bodies=of(FILES / "google-benchmark.json"), call=bring_as("google-benchmark"), modules=("interop.given",)),
    "pytest-benchmark": Reader(file="a.json", bodies=of(FILES / "pytest-benchmark.json"), call=bring_as("pytest-benchmark"), modules=()),
    "hyperfine": Reader(file="a.json", bodies=of(FILES / "hyperfine.json"), call=bring_as("hyperfine"), modules=()),
    "pyperf": Reader(file="a.json", bodies=of(FILES / "pyperf.json"), call=bring_as("pyperf"), modules=()),
    "asv": Reader(
        file="a.json",
        bodies=of(*sorted(p for p in (FILES / "asv" / "box").glob("*.json") if p.name != "machine.json")),
        call=bring_folder("asv", "box/result.json", (FILES / "asv" / "benchmarks.json",)),
        modules=(),
    ),
    "loadgen": Reader(
        file="mlperf_log_summary.txt", bodies=of(FILES / "loadgen" / "mlperf_log_summary.txt"), call=bring_as("loadgen"), modules=(), ways=TEXT
    ),
    "loadgen detail": Reader(
        file="mlperf_log_detail.txt", bodies=of(FILES / "loadgen" / "mlperf_log_detail.txt"), call=bring_as("loadgen"), modules=("interop.loadgen",), ways=TEXT
    ),
    "perfzero summary": Reader(file="perfzero_summary.json", bodies=summary, call=summaries, modules=("compat.perfzero.differences", "compat.perfzero.uploading")),
    "process log": Reader(file="process_info.log", bodies=lambda: [_PROCESS], call=process_log, modules=("compat.perfzero.plotting",), ways=TEXT),
    "harness info": Reader(
        file="info.json",
        bodies=lambda: [b'{"treatment": {"commit": "a", "commit_time": 1}, "meta": {}}'],
        call=harness_info,
        modules=("compat.harness.info", "compat.harness.flags", "compat.harness.devices"),
    ),
    "harness results": Reader(file="a.txt", bodies=lambda: [b'{"type": "NET", "metric": "latency", "values": [1.0]}'], call=harness_results, modules=("compat.harness.detection",)),
    "model index": Reader(file="index.json", bodies=lambda: [_INDEX], call=index, modules=("compat.neuronperf.model_index",)),
    "npz": Reader(file="a.npz", bodies=arrays, call=numbers, modules=("runtimes.array_files", "runtimes.inputs"), ways=BYTES),
    "npy": Reader(file="a.npy", bodies=array_file, call=numbers, modules=(), ways=BYTES),
    "numbers": Reader(file="a.txt", bodies=lambda: [b"1.0\n2.0\n3.5\n"], call=text_numbers, modules=(), ways=TEXT),
    "arrivals": Reader(file="a.trace", bodies=lambda: [b"0.1\n0.2 # first\n\n0.5\n"], call=trace, modules=("measure.load",), ways=TEXT),
    "spool": Reader(file="entry", bodies=spool_entry, call=spooled, modules=("store.remote.spool",), ways=TEXT),
    "journal of messages": Reader(file="notify.jsonl", bodies=journal, call=told, modules=("notify.journal",), ways=TEXT),
    "journal of a watch": Reader(file="watch.jsonl", bodies=watch_journal, call=watched, modules=("watching.journal",), ways=TEXT),
    "distribution": Reader(
        file="a.hdr",
        bodies=lambda: [hdr.encode_v2(histogram.fold([1000, 1100, 5000])).encode()],
        call=distribution,
        modules=("stats.hdr",),
        ways=BYTES,
    ),
    "note of the cache": Reader(
        file="a.note", bodies=lambda: [b'{"sha256": "%s", "name": "a", "size": 3, "url": "http://a/"}' % (b"a" * 64)], call=cache_note, modules=("fetch.cache_shelf",)
    ),
    "note of a download": Reader(file="a.note", bodies=noted, call=partial_note, modules=("fetch.partials",)),
    "mark of a build": Reader(file="a.mark", bodies=lambda: [b'{"failure": {"kind": "a", "message": "b"}, "seconds": 1.5}'], call=build_mark, modules=("builds",)),
    "answer of a server": Reader(file="answer", bodies=server_answers, call=answered, modules=("store.remote.calling",)),
    "answer to a message": Reader(
        file="answer",
        bodies=lambda: [b'{"error": "no", "id": 3}'],
        call=notices,
        modules=("notify.calling", "interop.posting", "compat.harness.remote_post", "compat.harness.remote_reporter", "compat.perfzero.tpus"),
    ),
    "body of a request": Reader(file="body", bodies=lambda: [document()[0], schema.dumps(run().results[0]).encode()], call=posted, modules=("server.documents",)),
    "packed body of a request": Reader(file="body", bodies=lambda: [gzip.compress(document()[0], mtime=0)], call=compressed_body, modules=("server.bodies",), ways=BYTES),
    "device": Reader(file="device", bodies=lambda: [b'{"kind": "a", "hash": "b"}'], call=device, modules=("devices.listing",)),
    "constructor": Reader(file="constructor", bodies=lambda: [b'{"a": 1, "b": [2]}'], call=constructor, modules=("runtimes.classes", "compat.perfzero.flags")),
    "accelerators": Reader(
        file="told", bodies=lambda: [b'{"card0": {"Card series": "a"}, "system": {"Driver version": "1"}}', b"1.0, A GPU\n"], call=accelerators, modules=("compat.perfzero.systems",), ways=TEXT
    ),
}  # fmt: skip


def mutated(reader: Reader, seed: str) -> bytes:
    """One wrong file, the same for the same seed."""
    draw = random.Random(seed)
    body = draw.choice(reader.bodies())
    ways = [way for way in reader.ways if way != "by_structure" or body.lstrip()[:1] in b"{["]
    return bytes(MUTATIONS[draw.choice(ways)](body, draw))

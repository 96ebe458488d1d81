"""Whatever stands in a file or an answer: a value or a sentence, never a traceback, and never without end."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from benchwright import plugins
from benchwright.errors import BenchwrightError, DecodeError, StoreError
from readers import table

QUICK, LONG = 40, 5260


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A spool and a folder of each test's own; little memory, so that a bound that is missing shows."""
    monkeypatch.setenv("BENCHWRIGHT_SPOOL", str(tmp_path / "spool"))
    monkeypatch.setenv("BENCHWRIGHT_LARGEST", "64")
    monkeypatch.chdir(tmp_path)
    yield


def read(name: str, body: bytes, folder: Path, seed: str = "") -> None:
    """Reads a file as that reader does."""
    reader = table.READERS[name]
    path = folder / reader.file
    path.write_bytes(body)
    try:
        reader.call(path, random.Random(seed))
    except BenchwrightError as error:
        assert str(error)
        assert len(str(error)) < 100_000, "a message that quotes all of it"


def hunt(name: str, folder: Path, first: int, count: int) -> None:
    for number in range(first, first + count):
        seed = f"{name}-{number}"
        body = table.mutated(table.READERS[name], seed)
        try:
            read(name, body, folder, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed!r}: {body[:300]!r}") from error


@pytest.mark.parametrize("name", table.READERS)
def test_right_files_are_read(name: str, tmp_path: Path) -> None:
    reader = table.READERS[name]
    for number, body in enumerate(reader.bodies()):
        path = tmp_path / reader.file
        path.write_bytes(body)
        with contextlib.suppress(*UNREAD.get(name, ())):
            reader.call(path, random.Random(number))


@pytest.mark.parametrize("name", table.READERS)
def test_wrong_files_end_in_a_sentence(name: str, tmp_path: Path) -> None:
    hunt(name, tmp_path, 0, QUICK)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", table.READERS)
def test_thousands_of_wrong_files_end_in_a_sentence(name: str, tmp_path: Path) -> None:
    hunt(name, tmp_path, QUICK, LONG)


@pytest.mark.parametrize(
    "seed", ["tasks-1474", "answer of a server-1592", "document-624", "document-4865", "store-3982", "spool-115"]
)
def test_what_the_long_hunt_found_stays_mended(seed: str, tmp_path: Path) -> None:
    name, _, number = seed.rpartition("-")
    hunt(name, tmp_path, int(number), 1)


def test_every_importer_is_in_the_table() -> None:
    assert {*plugins.names("importers")} <= {*table.READERS}


def test_every_module_that_parses_is_in_the_table() -> None:
    """Whoever parses text from elsewhere does it with `parsing` and `system.reading`, and stands in the table."""
    source = Path(import_module("benchwright").__file__ or "").parent
    known = {module for reader in table.READERS.values() for module in reader.modules} | EXEMPT.keys()
    found = {}
    for file in source.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        module = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        if any(sign in text for sign in SIGNS):
            found[module] = file
    assert {*found} - known == set(), "add them to READERS in tests/support/readers/table.py"
    assert known - {*found} - WITHOUT_SIGNS == set(), "these read nothing any more"


SIGNS = (
    "benchwright.schema.parsing import",
    "import parsing",
    "system import streams",
    "json.loads(",
    "json.load(",
    "tomllib",
    "import configparser",
    "import sqlite3",
    "import tarfile",
    "import zipfile",
    "import expat",
    "import yaml",
    "import pickletools",
    "np.load(",
    "read_array(",
    "int.from_bytes(",
    "unpack_from(",
)
WITHOUT_SIGNS = {  # the second row parses through `system`
    "store.files.parquet",
    *(f"worker.endpoints.{name}" for name in ("exposition", "plain.answer_paths", "plain.dialect")),
    *(f"worker.endpoints.kserve.{name}" for name in ("descriptions", "http", "messages")),
    *("cloud.ledger", "exchange.perfzero_hook", "notify.client", "workflows.watch.journal"),
}
EXEMPT = {
    "worker.endpoints.grpc_client": "certificates, which gRPC's library reads",
    **dict.fromkeys(
        ("schema.parsing", "system.http", "system.http_answers", "system.json_lines", "system.streams"),
        "the bounds themselves",
    ),
    "cli.known_names": "words for a shell's completion: whatever is wrong there gives none",
    "cli.verbs.notify": "a bound on what is posted, and no reader",
    "targets.projects.model_files": "whether a file is an archive, and no more",
    **dict.fromkeys(
        (
            "targets.sources.asv",
            "worker.runtimes.asv",
            "worker.runtimes.asv.setup_cache",
            "worker.runtimes.pytest_node",
        ),
        "what another process of ours wrote",
    ),
    "workflows.request_comment": "the event file of a build, whose writer runs the build",
    **dict.fromkeys(
        (
            "schema.series_identity",
            "report.findings",
            "report.data_frames",
            "report.history_text",
            "cli.verbs.history",
            "store.lookup",
            "report.issue_text",
            "server.lab_desk",
            *(
                f"pages.{name}"
                for name in ("finding_lists", "lines", "machine_control", "matrix", "pairs", "pareto", "results")
            ),
            *(f"store.sql.{name}" for name in ("arrivals", "lab_rows", "series_table", "sessions", "values")),
            *(
                f"store.sql.migrations.versions.{name}"
                for name in ("0005_causes", "0006_axes_and_views", "0012_findings_of_runs")
            ),
        ),
        "a text inside of a record",
    ),
    **dict.fromkeys(
        (
            *("store.sql.notes", "workflows.bisect.run", "targets.specs.passes", "server.openapi", "notify.webhook"),
            *("pages.view_json", "schema.plain_values", "workflows.machines"),
            *("worker.endpoints.server_figures", "worker.endpoints.scraper"),  # each other's
        ),
        "its own",
    ),
    **dict.fromkeys(
        (
            "worker.channel",
            "execution.hosts.container_init",
            "execution.hosts.container_worker",
            "execution.hosts.container",
        ),
        "tests of frames",
    ),
    **dict.fromkeys(
        (
            "execution.plan_elsewhere",
            "targets.sources.discovery",
            "execution.noise.probes",
            "exchange.uploads.hook_process",
        ),
        "a child of our own",
    ),
    **dict.fromkeys(("execution.hosts.forked", "execution.hosts.fork_server"), "a child of our own"),
    **dict.fromkeys(("server.serving_process", "server.shared_state", "server.traffic_files"), "a process of our own"),
    **dict.fromkeys(
        ("execution.hosts.ray_bridge", "execution.outposts.archive", "lab.cell_init", "server.judge"),
        "what its parent says",
    ),
    "execution.outposts.link": "tests of hosts",
    "store.remote": "pages of a server, read by parsing as its documents are",
    "execution.hosts.slurm": "a program of the system",
    "server.routes.sign_in": "tests of people who sign in",
    "compat.harness.lab_flags": "tests of the harness's lab",
    "vcs.remotes": "tests of remotes",
    "machine.environment.instances": "tests of instances",
    "workflows.watch.pairs": "its own",
    **dict.fromkeys(("execution.images.recipes", "execution.worker_archive"), "writes, and reads nothing"),
    **dict.fromkeys(
        ("store.sql.engine", "store.sql.presence", "store.sqlite_file"), "a connection, from which no value comes"
    ),
    "store.sql.run_writer": "writes, and looks for rows by their keys",
    **dict.fromkeys(("worker.engine.generator", "workflows.ab.run"), "a child of our own, and random bytes"),
    "targets.signatures.tflite": "tests of signatures",
    **dict.fromkeys(("worker.endpoints.lengths", "worker.endpoints.passages"), "random bytes of its own"),
    "worker.endpoints.tokens": "the package `tokenizers` reads; tests of tokens",
    **dict.fromkeys(("execution.hosts.engines", "compat.perfzero.drives"), "a program of the system"),
    **dict.fromkeys(("compat.perfzero.trials",), "an option that was read before"),
    **dict.fromkeys(
        (
            "worker.profilers.jax",
            "worker.profilers.onnxruntime",
            "worker.profilers.operators",
            "worker.profilers.pyspy",
        ),
        "a worker",
    ),
    **dict.fromkeys(
        (
            "worker.runtimes.pipeline.evaluation",
            "worker.runtimes.pipeline.examples",
            "worker.runtimes.pipeline.parts",
            "worker.runtimes.pipeline.calls",
        ),
        "in the worker",
    ),
}  # module -> why it is no border of the parent
# Some read the same file in several ways, of which one fits.
UNREAD = {"answer of a server": (StoreError, DecodeError), "body of a request": (DecodeError,)}

"""Every reader of what comes from elsewhere: what it reads, how it is called, and which modules it tries."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

from benchwright import schema
from benchwright.stats import hdr, histogram
from readers import answering, calls, mutations, seeds, stores
from readers.inference import INFERENCE
from readers.kinds import BYTES, TEXT, Reader
from readers.models import MODELS
from readers.served import SERVED

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "exchange" / "files"
MUTATIONS = {**vars(mutations), "by_cell": stores.by_cell}

READERS: dict[str, Reader] = {
    "settings": Reader(
        file="benchwright.toml", bodies=lambda: [seeds.SETTINGS], call=calls.settings, modules=("config",), ways=TEXT
    ),
    "tokens": Reader(
        file="tokens.toml",
        bodies=lambda: [b'"http://127.0.0.1:1/" = "abc"\n"https://b/" = "c"\n'],
        call=calls.tokens,
        modules=("store.remote.address",),
        ways=TEXT,
    ),
    "tasks": Reader(
        file="tasks.toml",
        bodies=seeds.of(ROOT / "examples" / "tasks.toml"),
        call=calls.tasks,
        modules=("targets.tasks.reader",),
        ways=TEXT,
    ),
    "asv's settings": Reader(
        file="asv.conf.json",
        bodies=lambda: [seeds.ASV_SETTINGS],
        call=calls.asv_settings,
        modules=("targets.asv.config",),
        ways=TEXT,
    ),
    "traces": Reader(
        file="rank0.json",
        bodies=lambda: [seeds.TRACE],
        call=calls.traces,
        modules=("worker.tasks.traces",),
        ways=TEXT,
    ),
    "older tasks": Reader(
        file="tasks.cfg",
        bodies=lambda: [seeds.OLDER_TASKS],
        call=calls.tasks,
        modules=("targets.tasks.old_form",),
        ways=TEXT,
    ),
    "settings of clouds": Reader(
        file="config",
        bodies=lambda: [seeds.CLOUD_SETTINGS, seeds.CLOUD_PROFILE],
        call=calls.cloud_settings,
        modules=("cloud.providers.settings",),
        ways=TEXT,
    ),
    "clusters": Reader(
        file="clusters.json",
        bodies=lambda: [seeds.CLUSTERS],
        call=calls.clusters,
        modules=("cloud.providers.skypilot",),
    ),
    "own prices": Reader(file="prices.yaml", bodies=seeds.own_prices, call=calls.own_prices, modules=(), ways=TEXT),
    "price list": Reader(
        file="list.json",
        bodies=seeds.price_lists,
        call=calls.price_list,
        modules=("prices.lists", "prices.lists.amazon"),
    ),
    "price table": Reader(
        file="list.csv", bodies=seeds.price_tables, call=calls.price_list, modules=("prices.lists",), ways=TEXT
    ),
    "kept prices": Reader(
        file="list.jsonl", bodies=seeds.kept_prices, call=calls.kept_prices, modules=("prices.shelf",), ways=TEXT
    ),
    "spec": Reader(
        file="spec.yaml",
        bodies=seeds.of(ROOT / "examples" / "specs" / "basic-pitch.yaml"),
        call=calls.spec,
        modules=("targets.specs.places",),
        ways=TEXT,
    ),
    "older spec": Reader(
        file="spec.json",
        bodies=seeds.of(*sorted((ROOT / "examples" / "harness").glob("*.json"))),
        call=calls.older_spec,
        modules=("targets.specs.json_text",),
    ),
    "document": Reader(
        file="run.json",
        bodies=seeds.document,
        call=calls.show,
        modules=("schema", "store.sql.codec", "store.sql.columns"),
    ),
    "store": Reader(
        file="results.db",
        bodies=stores.store,
        call=stores.look,
        modules=(
            "store.sql.codec",
            "store.sql.columns",
            "store.sql.notes",
            "store.lookup",
            "store.sqlite_file",
            "store.sql.faults",
        ),
        ways=("by_cell", "by_cell", "by_cell", "by_byte"),
    ),
    "lines": Reader(
        file="runs.jsonl",
        bodies=seeds.lines,
        call=calls.bring,
        modules=("store.files.transfer", "schema.quick_results", "schema.quick_json"),
        ways=TEXT,
    ),
    "packed lines": Reader(
        file="runs.jsonl.gz",
        bodies=lambda: [gzip.compress(seeds.lines()[0], mtime=0)],
        call=calls.bring,
        modules=("store.files.transfer",),
        ways=BYTES,
    ),
    "parquet": Reader(
        file="runs.parquet", bodies=seeds.parquet_file, call=calls.bring, modules=("store.files.parquet",), ways=BYTES
    ),
    "google-benchmark": Reader(
        file="a.json",
        bodies=seeds.of(FILES / "google-benchmark.json"),
        call=calls.bring_as("google-benchmark"),
        modules=("exchange.importers.source_file",),
    ),
    "pytest-benchmark": Reader(
        file="a.json",
        bodies=seeds.of(FILES / "pytest-benchmark.json"),
        call=calls.bring_as("pytest-benchmark"),
        modules=(),
    ),
    "hyperfine": Reader(
        file="a.json", bodies=seeds.of(FILES / "hyperfine.json"), call=calls.bring_as("hyperfine"), modules=()
    ),
    "pyperf": Reader(file="a.json", bodies=seeds.of(FILES / "pyperf.json"), call=calls.bring_as("pyperf"), modules=()),
    "asv": Reader(
        file="a.json",
        bodies=seeds.of(*sorted(p for p in (FILES / "asv" / "box").glob("*.json") if p.name != "machine.json")),
        call=calls.bring_folder("asv", "box/result.json", (FILES / "asv" / "benchmarks.json",)),
        modules=(),
    ),
    "loadgen": Reader(
        file="mlperf_log_summary.txt",
        bodies=seeds.of(FILES / "loadgen" / "mlperf_log_summary.txt"),
        call=calls.bring_as("loadgen"),
        modules=(),
        ways=TEXT,
    ),
    "loadgen detail": Reader(
        file="mlperf_log_detail.txt",
        bodies=seeds.of(FILES / "loadgen" / "mlperf_log_detail.txt"),
        call=calls.bring_as("loadgen"),
        modules=("exchange.importers.loadgen",),
        ways=TEXT,
    ),
    "guidellm": Reader(
        file="benchmarks.json",
        bodies=seeds.of(FILES / "guidellm.json"),
        call=calls.bring_as("guidellm"),
        modules=(),
    ),
    "vllm": Reader(
        file="a.json",
        bodies=seeds.of(FILES / "vllm.json"),
        call=calls.bring_as("vllm"),
        modules=("exchange.importers.place",),
    ),
    "aiperf": Reader(
        file="x_aiperf.json",
        bodies=seeds.of(FILES / "aiperf" / "profile_export_aiperf.json"),
        call=calls.bring_as("aiperf"),
        modules=(),
    ),
    "aiperf records": Reader(
        file="x.jsonl",
        bodies=seeds.of(FILES / "aiperf" / "profile_export.jsonl"),
        call=calls.bring_as("aiperf"),
        modules=(),
        ways=TEXT,
    ),
    "perfzero summary": Reader(
        file="perfzero_summary.json",
        bodies=seeds.summary,
        call=calls.summaries,
        modules=("compat.perfzero.differences", "compat.perfzero.uploads"),
    ),
    "process log": Reader(
        file="process_info.log",
        bodies=lambda: [seeds.PROCESS],
        call=calls.process_log,
        modules=("compat.perfzero.plots",),
        ways=TEXT,
    ),
    "harness info": Reader(
        file="info.json",
        bodies=lambda: [b'{"treatment": {"commit": "a", "commit_time": 1}, "meta": {}}'],
        call=calls.harness_info,
        modules=("compat.harness.info", "compat.harness.flags", "compat.harness.devices"),
    ),
    "harness results": Reader(
        file="a.txt",
        bodies=lambda: [b'{"type": "NET", "metric": "latency", "values": [1.0]}'],
        call=calls.harness_results,
        modules=("compat.harness.detection",),
    ),
    "model index": Reader(
        file="index.json", bodies=lambda: [seeds.INDEX], call=calls.index, modules=("compat.neuronperf.model_index",)
    ),
    "npz": Reader(
        file="a.npz",
        bodies=seeds.arrays,
        call=calls.numbers,
        modules=("worker.runtimes.inputs.array_files", "worker.runtimes.inputs.feeds"),
        ways=BYTES,
    ),
    "npy": Reader(file="a.npy", bodies=seeds.array_file, call=calls.numbers, modules=(), ways=BYTES),
    "numbers": Reader(
        file="a.txt", bodies=lambda: [b"1.0\n2.0\n3.5\n"], call=calls.text_numbers, modules=(), ways=TEXT
    ),
    "arrivals": Reader(
        file="a.trace",
        bodies=lambda: [b"0.1\n0.2 # first\n\n0.5\n"],
        call=calls.trace,
        modules=("worker.engine.arrivals",),
        ways=TEXT,
    ),
    "dialogues": Reader(
        file="a.json", bodies=lambda: [seeds.DIALOGUES], call=calls.prompts, modules=("worker.endpoints.data_files",)
    ),
    "prompts": Reader(
        file="a.jsonl",
        bodies=lambda: [seeds.PROMPTS, seeds.REQUESTS],
        call=calls.prompts,
        modules=("worker.endpoints.data_files",),
        ways=TEXT,
    ),
    "table of requests": Reader(
        file="a.csv",
        bodies=lambda: [seeds.REQUEST_TABLE, b'id,question\n1,"a, b"\n2,c\n'],
        call=calls.prompts,
        modules=("worker.endpoints.data_files",),
        ways=TEXT,
    ),
    "spool": Reader(
        file="entry", bodies=seeds.spool_entry, call=calls.spooled, modules=("store.remote.spool",), ways=TEXT
    ),
    "journal of messages": Reader(
        file="notify.jsonl", bodies=seeds.journal, call=calls.told, modules=("notify.journal",), ways=TEXT
    ),
    "journal of a watch": Reader(
        file="watch.jsonl",
        bodies=seeds.watch_journal,
        call=calls.watched,
        modules=("workflows.watch.journal",),
        ways=TEXT,
    ),
    "ledger of machines": Reader(
        file="cloud.jsonl", bodies=seeds.ledger, call=calls.ledger, modules=("cloud.ledger",), ways=TEXT
    ),
    "distribution": Reader(
        file="a.hdr",
        bodies=lambda: [hdr.encode_v2(histogram.fold([1000, 1100, 5000])).encode()],
        call=calls.distribution,
        modules=("stats.hdr",),
        ways=BYTES,
    ),
    "note of the cache": Reader(
        file="a.note",
        bodies=lambda: [b'{"sha256": "%s", "name": "a", "size": 3, "url": "http://a/"}' % (b"a" * 64)],
        call=calls.cache_note,
        modules=("fetch.cache_shelf",),
    ),
    "note of a download": Reader(
        file="a.note", bodies=seeds.noted, call=calls.partial_note, modules=("fetch.partials",)
    ),
    "environment of a lab": Reader(
        file="made.json", bodies=seeds.made_environments, call=calls.made_environment, modules=("lab.environments",)
    ),
    "mark of a build": Reader(
        file="a.mark",
        bodies=lambda: [seeds.MARK],
        call=calls.build_mark,
        modules=("execution.builds",),
    ),
    "project": Reader(
        file="pyproject.toml",
        bodies=lambda: [seeds.PROJECT],
        call=calls.project,
        modules=("execution.builds.surroundings",),
        ways=TEXT,
    ),
    "setup.cfg of a project": Reader(
        file="setup.cfg",
        bodies=lambda: [b"[metadata]\nname = a\n[options]\ninstall_requires =\n  numpy\n  click>=8\n"],
        call=calls.project,
        modules=("execution.builds.surroundings",),
        ways=TEXT,
    ),
    "setup.py of a project": Reader(
        file="setup.py",
        bodies=lambda: [
            b'from setuptools import setup\nneeded = ["numpy"]\nsetup(name="a", install_requires=needed)\n'
        ],
        call=calls.project,
        modules=("execution.builds.surroundings",),
        ways=TEXT,
    ),
    "answer of a server": Reader(
        file="answer", bodies=seeds.server_answers, call=answering.answered, modules=("store.remote.client",)
    ),
    "answer to a message": Reader(
        file="answer",
        bodies=lambda: [b'{"error": "no", "id": 3}'],
        call=answering.notices,
        modules=(
            "notify.client",
            "exchange.perfzero_hook",
            "compat.harness.remote_post",
            "compat.harness.remote_reporter",
            "compat.perfzero.tpus",
        ),
    ),
    "body of a request": Reader(
        file="body",
        bodies=lambda: [seeds.document()[0], schema.dumps(seeds.run().results[0]).encode()],
        call=answering.posted,
        modules=("server.documents", "schema.quick_results"),
    ),
    "packed body of a request": Reader(
        file="body",
        bodies=lambda: [gzip.compress(seeds.document()[0], mtime=0)],
        call=answering.compressed_body,
        modules=("server.bodies",),
        ways=BYTES,
    ),
    "device": Reader(
        file="device",
        bodies=lambda: [b'{"kind": "a", "hash": "b"}'],
        call=calls.device,
        modules=("machine.devices.listing",),
    ),
    "constructor": Reader(
        file="constructor",
        bodies=lambda: [b'{"a": 1, "b": [2]}'],
        call=calls.constructor,
        modules=("worker.runtimes.classes", "compat.perfzero.flags"),
    ),
    **MODELS,
    **SERVED,
    **INFERENCE,
    "accelerators": Reader(
        file="told",
        bodies=lambda: [b'{"card0": {"Card series": "a"}, "system": {"Driver version": "1"}}', b"1.0, A GPU\n"],
        call=calls.accelerators,
        modules=("compat.perfzero.systems",),
        ways=TEXT,
    ),
}


def mutated(reader: Reader, seed: str) -> bytes:
    """One wrong file, the same for the same seed."""
    draw = random.Random(seed)
    body = draw.choice(reader.bodies())
    ways = [way for way in reader.ways if way != "by_structure" or body.lstrip()[:1] in b"{["]
    return bytes(MUTATIONS[draw.choice(ways)](body, draw))

"""python tests/support/screenshots.py OUT_DIR [NAME...]: every page, light and dark, desk and phone.

To look at, not a test: the pages of the sample store, with a run that is under way, a machine in quarantine, and runs
of a served model (`served-users`, `served-rates`, `served-result`), and races (`race`, `race-front`, `race-none`).
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import browsers
import page_server
import sample_project
import sample_race
import sample_store
import scripted.client
from benchwright import schema
from benchwright.records.machines import Quarantine
from benchwright.records.races import RaceGoal
from benchwright.server.settings import ServerSettings
from benchwright.store.archive import Progress
from benchwright.store.sql import SqlStore
from page_places import page_places
from served_runs import measure_failures, measure_rates, measure_sweep

SIZES = {"desk": (1280, 900), "phone": (390, 844)}


def main(out: Path, wanted: list[str]) -> None:
    """Takes the pictures, all or those of the pages that are named."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browsers.chromium() as chromium:
        store = Path(folder, "results.db")
        _fill(store)
        served = [*_add_served(store), *_add_races(store)]
        settings = ServerSettings(store_url=f"sqlite:///{store}", artifacts=Path(folder))
        for server in page_server.serving(settings):
            pages = {name: path for name, path in (*page_places(server), *served) if not wanted or name in wanted}
            for scheme in ("light", "dark"):
                for size in SIZES:
                    _take(chromium, server, pages, out, scheme, size)


def _fill(path: Path) -> None:
    """The sample, and a run of it that is half done."""
    sample_store.build(path)
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        run = replace(sample_project.run(118), id="20261001T080000000-0000ff", planned=22)
        begun = [replace(result, id=f"live{number:016}") for number, result in enumerate(run.results[:9])]
        store.begin(replace(run, results=()))
        for result in begun:
            store.add(run.id, result)
        first = sample_project.run(0).results[0].environment
        since = round(datetime(2026, 9, 27, tzinfo=UTC).timestamp() * 1e6)
        store.quarantine(
            Quarantine(machine=schema.environment_key(first), since=since, reason="fan replaced", who="ada")
        )
        now = begun[-1].case
        store.tell_progress(
            Progress(
                run=run.id,
                started_at=(datetime.now(UTC) - timedelta(seconds=95)).isoformat(),
                planned=22,
                done=len(begun),
                case=now.name,
                params={name: str(value) for name, value in now.params.items()},
                phase="measuring",
                host="bench-rack",
            )
        )


def _add_served(path: Path) -> list[tuple[str, str]]:
    """Real requests to the scripted server; the names and addresses of the pages that show them."""
    with scripted.client.running() as peer, closing(SqlStore(f"sqlite:///{path}")) as store:
        users, rates, failures = (measure(peer) for measure in (measure_sweep, measure_rates, measure_failures))
        # As old as the sample: whoever asks for its newest runs gets those of the sample.
        for number, run in enumerate((users, rates, failures)):
            store.add_run(replace(run, id=f"20250101T0000000{number:02}-00000a", started_at="2025-01-01T00:00:00Z"))
        return [
            ("served-users", "#/runs/20250101T000000000-00000a"),
            ("served-rates", "#/runs/20250101T000000001-00000a"),
            ("served-result", f"#/results/{failures.results[0].id}"),
        ]


def _add_races(path: Path) -> list[tuple[str, str]]:
    """A race with a winner, one of two goals, and one that has no feasible configuration."""
    high, low = RaceGoal(metric="throughput", higher=True), RaceGoal(metric="latency_p99", higher=False)
    terms = sample_race.race_terms()
    strict = replace(terms, bounds=(replace(terms.bounds[0], limit=0.001),))
    asked = {"race": terms, "race-front": sample_race.race_terms(goals=(high, low)), "race-none": strict}
    with closing(SqlStore(f"sqlite:///{path}")) as store:
        for number, question in enumerate(asked.values()):
            run = sample_race.race_run(question, id_=f"20250102T0000000{number:02}-00000a")
            store.add_run(replace(run, started_at="2025-01-02T00:00:00Z"))
    return [(name, f"#/runs/20250102T0000000{number:02}-00000a") for number, name in enumerate(asked)]


def _take(chromium: Any, server: str, pages: dict[str, str], out: Path, scheme: str, size: str) -> None:
    width, height = SIZES[size]
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, timezone_id="UTC", locale="en-GB"
    )
    page = context.new_page()
    for name, path in pages.items():
        page.goto("about:blank")
        page.goto(server + path)
        page.locator("main").locator("h1, .empty").first.wait_for()
        page.wait_for_timeout(500)  # charts, sparklines, what comes late
        sideways = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        long = page.evaluate("document.documentElement.scrollHeight")
        page.screenshot(path=out / f"{name}-{size}-{scheme}.png", full_page=True)
        print(f"{name}-{size}-{scheme} {long} px", f"scrolls sideways by {sideways}" if sideways > 0 else "")
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

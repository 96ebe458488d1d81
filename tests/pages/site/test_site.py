"""A published site: complete, incremental, and read by a real browser from a disk and from a sub-path of a server."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_store
from benchwright.config import Project
from benchwright.errors import OptionError
from benchwright.pages.site import FileCounts, publish
from benchwright.pages.site.files import Stems, answer_name, data_script, site_script
from benchwright.pages.site.folder import Folder
from benchwright.records.findings import Triage
from benchwright.store.archive import NamedView
from benchwright.store.sql import SqlStore
from benchwright.vcs.forges import Projects

RUNS = 3
HOSTILE = "</script><img src=x onerror=alert(1)> '\u2028\\' __proto__"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small store of tests/support/sample_store.py."""
    file = tmp_path_factory.mktemp("sample") / "results.db"
    sample_store.build_small(file)
    return file


@pytest.fixture(scope="module")
def site(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "deep" / "site"
    assert _published(sample, folder).written > 100
    return folder


def _published(sample: Path, folder: Path, runs: int = RUNS, **options: Any) -> FileCounts:
    with closing(SqlStore(f"sqlite:///{sample}", create=False)) as store:
        return publish(store, folder, runs=runs, **options)


def _answers(folder: Path) -> set[str]:
    """The names that the site says it has; every file is there."""
    text = (folder / "data" / "site.js").read_text(encoding="utf-8")
    names, others = (json.loads(found) for found in re.findall(r"JSON\.parse\('(.*?)'\)", text))
    assert all((folder / "data" / f"{file}.js").is_file() for file in (*names, *others.values()))
    return {*names, *others}


# ---- what it holds ----


def test_everything_of_the_newest_runs_is_there(site: Path, sample: Path) -> None:
    found = _answers(site)
    assert {"about", "overview", "runs", "series", "findings", "causes", "machines", "matrix", "views"} <= found
    with closing(SqlStore(f"sqlite:///{sample}", create=False)) as store:
        runs = [summary.id for summary in store.runs(limit=RUNS)]
        results = {result.id for run in runs for result in store.run(run, samples=False).results}
        series = {value.series for value in store.values_of_runs(runs)}
        findings = {finding.id for finding in store.findings()}
        older = store.runs(limit=RUNS + 1)[-1].id
    assert {answer_name("runs", run) for run in runs} <= found
    assert answer_name("runs", older) not in found
    assert {answer_name("results", result) for result in results} <= found
    assert {answer_name("series", key) for key in series} <= found
    assert {answer_name("findings", name) for name in findings} <= found
    assert sum(name.startswith("compare.") for name in found) >= 2 * RUNS
    assert {answer_name("matrix", query={"metric": m}) for m in ("latency_p50", "throughput")} <= found


@pytest.mark.soak
def test_writing_again_changes_nothing_and_what_is_not_needed_goes(sample: Path, site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.name != "benchwright-site.json"}
    theirs = folder / "data" / "analytics.js"
    theirs.write_text("their own", encoding="utf-8")
    again = _published(sample, folder)
    assert (again.written, again.removed) == (0, 0) and again.unchanged > 100
    assert {file: file.stat().st_mtime_ns for file in before if file.is_file()} == {
        file: at for file, at in before.items() if file.is_file()
    }
    fewer = _published(sample, folder, runs=1)
    assert fewer.removed > 0 and theirs.is_file()
    kept = {file.stem for file in (folder / "data").glob("*.js")}
    above = [file for file in folder.iterdir() if file.is_file() and file.name != "benchwright-site.json"]
    assert len(kept) == fewer.written + fewer.unchanged + 1 - len(above)  # theirs is one more
    _answers(folder)


def test_somebody_elses_folder_is_refused(sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "index.html").write_text("theirs", encoding="utf-8")
    with pytest.raises(OptionError, match="Benchwright did not write it"):
        _published(sample, folder)
    assert [file.name for file in folder.iterdir()] == ["index.html"]
    with pytest.raises(OptionError):
        _published(sample, folder / "index.html")


def test_a_site_that_was_cut_off_is_written_again(
    inside: Callable[..., subprocess.CompletedProcess[str]], sample: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "site"

    def stop(count: int) -> None:
        if count == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _published(sample, folder, on_answer=stop)
    assert not (folder / "index.html").exists()
    ended = inside("report", "--site", str(folder), "--store", str(sample), "--runs", "1", "--json")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)["data"]
    assert told["site"] == str(folder) and told["unchanged"] >= 3 and told["written"] > 50
    assert not [*folder.rglob("*.tmp")]
    _answers(folder)


def test_a_newer_version_that_was_cut_off_trusts_no_older_answer(tmp_path: Path) -> None:
    Folder(tmp_path, "old").finish()
    assert Folder(tmp_path, "old").is_same_maker
    assert not Folder(tmp_path, "new").is_same_maker  # and is cut off
    assert not Folder(tmp_path, "new").is_same_maker and not Folder(tmp_path, "old").is_same_maker


def test_a_wrong_request(inside: Callable[..., subprocess.CompletedProcess[str]], sample: Path, tmp_path: Path) -> None:
    site = str(tmp_path / "site")
    for wrong in (
        ["last", "--site", site],
        ["--runs", "3"],
        ["--site", site, "--runs", "0"],
        ["--site", site, "--svg", "plots"],
        ["--site", site, "-o", "report.html"],
    ):
        assert inside("report", *wrong, "--store", str(sample)).returncode == 2
    assert [*tmp_path.iterdir()] == []


# ---- names and scripts, as a browser's own language reads them ----


def _by_node(program: str, *lines: str) -> list[Any]:
    ended = subprocess.run(["node", "-e", program], input="\n".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ended.stdout.strip("\n").split("\n")]  # what else ends lines is in the data


_NAMES = """
const text = require("fs").readFileSync("SOURCE", "utf8");
const source = text.slice(text.indexOf("export function fileName"), text.indexOf("function loaded"));
const plain = source.replace("export ", "").replaceAll(/: (string|Asked)(?=[,)]| \\{)/g, "");
const fileName = new Function(plain + "; return fileName;")();
for (const line of require("fs").readFileSync(0, "utf8").split("\\n")) {
  const [parts, query] = JSON.parse(line);
  console.log(JSON.stringify(fileName(parts.map(encodeURIComponent).join("/"), query)));
}
"""


def test_names_are_those_that_the_pages_ask_for(root: Path) -> None:
    words = ["runs", "a/b.c_d-e", "Größe ü 漢 😀", "", "x=1&y", "%25", HOSTILE, "A", "~*'()!"]
    asked = [([one, two], {one: two, "z": one, "": two}) for one in words for two in words]
    program = _NAMES.replace("SOURCE", str(root / "dashboard" / "src" / "api.ts"))
    found = _by_node(program, *(json.dumps(line) for line in asked))
    assert found == [answer_name(*parts, query=query) for parts, query in asked]


@settings(max_examples=100)
@given(st.lists(st.text(max_size=200).map(lambda text: answer_name("x", text)), unique=True, max_size=5))
def test_no_two_answers_share_a_file_even_where_case_does_not_count(names: list[str]) -> None:
    stems = Stems()
    found = [stems.of(name) for name in names]
    assert len({stem.lower() for stem in found}) == len(names)
    assert all(len(stem) <= 150 for stem in found)
    assert [stems.of(name) for name in names] == found


def test_nothing_in_the_data_becomes_code() -> None:
    data = {HOSTILE: HOSTILE, "__proto__": {"polluted": 1}}
    script = data_script("x", json.dumps(data, ensure_ascii=False).encode())
    assert b"<" not in script and "\u2028".encode() not in script
    program = """
const benchwright_site = { put: (file, data) => console.log(JSON.stringify([file, data, ({}).polluted ?? null])) };
eval(require("fs").readFileSync(0, "utf8"));
"""
    assert _by_node(program, script.decode()) == [["x", data, None]]
    assert b"</script>" not in site_script({"</script>": "a"})


# ---- in a browser ----


@pytest.fixture(scope="module")
def web(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None: ...  # noqa: A002

    folder = site.parent.parent
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{site.relative_to(folder)}/"
        server.shutdown()
        thread.join()


# From a disk, tests/browser/test_browser_site.py follows every link of every kind of page.
@pytest.mark.parametrize("place", [pytest.param("disk", marks=pytest.mark.soak), "web"])
def test_every_page_shows_its_data(place: str, browser: Any, site: Path, request: pytest.FixtureRequest) -> None:
    base = f"{site.as_uri()}/" if place == "disk" else request.getfixturevalue("web")
    page = browser.new_page()
    page.set_default_timeout(60_000)
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda one: asked.append(one.url))
    page.goto(f"{base}index.html")
    for address, shown in _pages(page, base):
        page.goto(f"{base}index.html{address}")
        page.locator("main", has_text=shown).wait_for()
        assert "not published" not in page.locator("main").inner_text(), address
    page.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(base)] == []


def _pages(page: Any, base: str) -> Iterator[tuple[str, str]]:
    """Addresses of one page of each kind, as links lead there, and something that only its data can tell."""
    yield "#/overview", "resnet50"
    yield "#/series", "resnet50"
    chart = _link(page, "#/series/")
    yield chart, "resnet50"
    yield f"{chart}?x=commit&rounds=each", "resnet50"
    yield "#/views", "No views yet."
    yield "#/series", "resnet50"
    yield "#/runs", "2026"
    run = _link(page, "#/runs/")
    yield run, run.partition("/runs/")[2]
    compared, result = _link(page, "#/compare?a="), _link(page, "#/results/")
    yield f"{compared}&rest=1", "resnet50"
    yield result, result.partition("/results/")[2]
    yield "#/matrix", "resnet50"
    yield "#/matrix?metric=throughput", "throughput"
    yield "#/matrix?view=pareto", "on the front"
    yield "#/machines", "Example Server 7"
    yield "#/findings", "Copy every input"
    yield _link(page, "#/findings/cause-"), "4 series of 2 cases"
    yield _link(page, "#/findings/"), "resnet50"
    yield "#/findings?each=yes", "resnet50"


def _link(page: Any, beginning: str) -> str:
    return str(page.locator(f"main a[href^='{beginning}']").first.get_attribute("href"))


def test_views_are_published_to_be_read_and_the_home_page_opens(browser: Any, sample: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(sample, tmp_path / "results.db"))
    with closing(SqlStore(f"sqlite:///{file}")) as store:
        view = NamedView(id=0, name="Slowest", address="series?sort=-last&metrics=latency_p50", who="ada", made_at="")
        store.keep_view(replace(view, is_home=True))
        publish(store, tmp_path / "site", runs=2)
        store.keep_view(replace(view, name="Gone", address="series/not-published", is_home=True))
        publish(store, tmp_path / "other", runs=1)
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{(tmp_path / 'site').as_uri()}/index.html")
    page.locator("tbody tr", has_text="resnet50").first.wait_for()
    assert page.url.endswith("#/series?sort=-last&metrics=latency_p50")
    assert "batch_size=8" in page.locator("tbody tr").first.inner_text()  # the slower of them
    assert page.locator("tbody tr").count() == 8  # two runtimes, batch sizes and machines, of one metric
    page.locator("nav a", has_text="Views").click()
    page.locator("main a", has_text="Slowest").wait_for()
    assert page.locator("main button", has_text="Remove").count() == 0
    assert page.get_by_role("button", name="Save this page as a view").count() == 0
    page.goto(f"{(tmp_path / 'other').as_uri()}/index.html")
    page.locator("h1", has_text="Overview").wait_for()  # a home page that the site does not hold is not opened
    assert "not-published" not in page.url
    page.close()


# ---- links to the code ----


@pytest.mark.soak
def test_a_site_links_to_the_code_and_offers_forms_but_sends_nothing(sample: Path, tmp_path: Path) -> None:
    projects = Projects((Project(url="https://github.com/owner/name", token="${FORGE_TOKEN}"),))
    folder = tmp_path / "site"
    _published(sample, folder, runs=1, projects=projects, link="https://pages.example/#/findings/{id}")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (folder / "data").glob("*.js")}
    assert "https://github.com/owner/name/commit/{commit}" in texts["overview"]
    assert not any("FORGE_TOKEN" in text for text in texts.values())
    drafts = {name: text for name, text in texts.items() if name.endswith(".issue")}
    with closing(SqlStore(f"sqlite:///{sample}", create=False)) as store:
        findings = store.findings()
    assert {f"findings.{one.id}.issue" for one in findings} <= {*drafts} <= {*_answers(folder)}
    for text in drafts.values():
        assert '"can_send":false' in text and "https://pages.example/#/findings/" in text
    before = _published(sample, folder, runs=1, projects=projects, link="https://pages.example/#/findings/{id}")
    assert before.written == 0
    elsewhere = Projects((Project(url="https://gitlab.com/owner/name"),))
    _published(sample, folder, runs=1, projects=elsewhere)  # results of runs that are as they were, too
    left = [path.name for path in (folder / "data").glob("*.js") if "github.com" in path.read_text(encoding="utf-8")]
    assert left == []


def test_a_site_names_people_without_their_addresses(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.db"
    shutil.copy(sample, file)
    ada = "Ada Lovelace <ada@mail.example>"
    with closing(SqlStore(f"sqlite:///{file}", create=False)) as store:
        store.keep_view(NamedView(id=0, name="mine", address="series", who=ada, made_at=""))
        first = store.findings()[0].id
        store.triage_findings([first], Triage(assignee=ada, comment="mine"), who=ada, at="2026-11-17T08:00:00+00:00")
    _published(file, tmp_path / "site", runs=1)
    told = "".join(one.read_text(encoding="utf-8") for one in (tmp_path / "site" / "data").iterdir())
    assert "to Ada Lovelace" in told and "mail.example" not in told

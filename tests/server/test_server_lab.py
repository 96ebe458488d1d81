"""The lab's part of the API: files by digest, submissions, claims, deliveries, and who may do which of them."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import series_of_runs as runs
from benchwright import schema
from benchwright.lab.parcels import LabParcel
from benchwright.records import CONTROL_TAG, Artifact, Case, Run, Target
from benchwright.records.lab import LabLease, LabWork
from benchwright.records.machines import Quarantine

MODEL = b"weights" * 100
SHA = hashlib.sha256(MODEL).hexdigest()
FILE = {"path": "/home/mia/model.bin", "sha256": SHA, "size": len(MODEL), "executable": False}
PARCEL = {"files": [FILE], "folders": ["/home/mia"], "places": ["/home/mia/model.bin"], "directory": "/home/mia"}


@pytest.fixture(scope="module")
def lab(serving: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server that asks everyone for a token, with an agent, two people who submit, and an administrator."""
    with serving(tmp_path_factory.mktemp("lab"), require_token=True) as made:
        made.agent = made.token("rack", "agent")
        made.mia, made.leo = made.token("mia", "write"), made.token("leo", "write")
        made.root = made.token("root", "admin")
        machine = {"name": "a", "key": "key of a", "facts": {"cpu": "AMD EPYC"}, "labels": {"team": "vision"}}
        told = made.post("lab/agents", json={"agent": "a", "machines": [machine]}, headers=made.agent)
        assert told.status_code == 200 and told.json()["heartbeat"] > 0
        assert made.put(f"lab/files/{SHA}", content=MODEL, headers=made.mia).status_code == 201
        yield made


def _work(name: str) -> dict[str, Any]:
    case = Case(name=name, target=Target(runtime="command", uri="true"), params={"n": name})
    return schema.encode(LabWork(case=case, rounds=2))


def _submission(run: str, *names: str, **words: Any) -> dict[str, Any]:
    header = schema.encode(Run(id=run, started_at="2026-03-01T10:00:00+00:00", harness="1"))
    jobs = [{"work": _work(name), "parcel": 0} for name in names]
    return {"run": header, "parcels": [PARCEL], "jobs": jobs, **words}


def _claim(lab: Any, machine: str = "a", **words: Any) -> LabLease | None:
    told = lab.post("lab/claims", json={"machine": machine, "wait": 0, **words}, headers=lab.agent)
    assert told.status_code == 200, told.text
    found = told.json()["lease"]
    return None if found is None else schema.decode(LabLease, found, where="lease")


def _document(lease: LabLease, **words: Any) -> str:
    result = runs.run_of(1, 0.5).results[0]
    name = f"{lease.job.run}-{lease.job.id}.{lease.job.attempt}-0"
    where = replace(result.environment, system={"host": {"name": f"lab:{lease.job.leased_to}"}})
    result = replace(result, id=name, case=lease.work.case, environment=where, **words)
    return schema.dumps(replace(runs.run_of(1, 0.5), id=lease.job.run, results=(result,)))


def _deliver(lab: Any, lease: LabLease, **words: Any) -> Any:
    return lab.post(f"lab/leases/{lease.fence}/deliver", content=_document(lease), headers=lab.agent, **words)


def test_a_job_from_submission_to_its_results(lab: Any) -> None:
    told = lab.post("lab/submissions", json=_submission("r1", "one", priority=3), headers=lab.mia)
    assert told.json() == {"run": "r1", "jobs": 1, "machines": ["a"]}
    assert lab.post("lab/submissions", json=_submission("r1", "one", priority=3), headers=lab.mia).json()["jobs"] == 1
    lease = _claim(lab)
    assert lease is not None and lease.job.who == "mia" and lease.work.rounds == 2
    parcel = lab.get(f"lab/parcels/{lease.job.parcel}", headers=lab.agent).json()["answer"]
    assert schema.decode(LabParcel, parcel, where="parcel").files[0].sha256 == SHA
    assert lab.get(f"lab/files/{SHA}", headers=lab.agent).content == MODEL
    other = lab.token("spare", "agent")
    for path in (f"lab/parcels/{lease.job.parcel}", f"lab/files/{SHA}"):
        assert lab.get(path, headers=other).status_code == 404  # it has no job that needs it
    assert lab.post(f"lab/leases/{lease.fence}/beat", json={"phase": "round 1"}, headers=lab.agent).json()["lease"] > 0
    assert [(one.run, one.phase, one.host) for one in lab.store.progress()] == [("r1", "claimed", "a")]
    assert _deliver(lab, lease).json() == {"id": lease.fence, "added": True}
    assert _deliver(lab, lease).json() == {"id": lease.fence, "added": False}
    assert lab.store.progress() == []
    assert lab.get(f"lab/files/{SHA}", headers=lab.agent).status_code == 404  # the job has ended
    assert len(lab.store.run("r1").results) == 1 and lab.store.header("r1").planned == 2
    actions = {entry.action for entry in lab.store.audit()}
    assert {"offer machines", "send lab file", "submit to lab", "claim lab jobs", "deliver lab results"} <= actions


def test_files_of_results_come_after_them(lab: Any) -> None:
    lab.post("lab/submissions", json=_submission("f1", "one"), headers=lab.mia)
    lease = _claim(lab)
    assert lease is not None
    own = Artifact(name="a/trace.bin", kind="profile", path="/there", size=len(MODEL), sha256=SHA)
    body, below = _document(lease, artifacts=(own,)), f"lab/leases/{lease.fence}/artifacts"
    result = f"f1-{lease.job.id}.1-0"
    assert lab.put(f"{below}/{result}/a/trace.bin", content=MODEL, headers=lab.agent).status_code == 409
    assert lab.post(f"lab/leases/{lease.fence}/deliver", content=body, headers=lab.agent).status_code == 200
    assert lab.put(f"{below}/{result}/a/trace.bin", content=b"other", headers=lab.agent).status_code == 400
    assert lab.put(f"{below}/{result}/a/trace.bin", content=MODEL, headers=lab.agent).status_code == 201
    assert lab.put(f"{below}/r1-1.1-0/a/trace.bin", content=MODEL, headers=lab.agent).status_code == 403
    assert lab.get(f"results/{result}/artifacts/a/trace.bin", headers=lab.mia).content == MODEL


def test_a_claim_waits_for_work_and_hears_of_it_at_once(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchwright.server.lab_desk.LOOK", 3600.0)  # it hears of work, or of nothing
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(_claim(lab, wait=20.0)))
    asking.start()
    time.sleep(0.2)
    lab.post("lab/submissions", json=_submission("r2", "two"), headers=lab.mia)
    asking.join(60)
    assert found[0].work.case.name == "two"
    assert _deliver(lab, found[0]).status_code == 200


def test_a_lease_that_is_over_is_refused_and_nothing_of_it_is_kept(lab: Any) -> None:
    lab.post("lab/submissions", json=_submission("r3", "three"), headers=lab.mia)
    lease = _claim(lab)
    assert lease is not None
    refused = lab.post("lab/submissions/r3/cancel", json={}, headers=lab.leo)
    assert refused.status_code == 403 and "mia" in refused.json()["error"]
    told = lab.post("lab/submissions/r3/cancel", json={"reason": "typo"}, headers=lab.root)
    assert told.json() == {"name": "r3", "count": 1}
    for verb, body in (("beat", {}), ("release", {"kind": "failed", "reason": "x"})):
        assert lab.post(f"lab/leases/{lease.fence}/{verb}", json=body, headers=lab.agent).status_code == 409
    late = _deliver(lab, lease)
    assert late.status_code == 409 and "cancelled" in late.json()["error"]
    assert {result.error.kind for result in lab.store.run("r3").results} == {"cancelled"}


def test_an_agents_token_opens_nothing_else(lab: Any) -> None:
    operations = lab.made.openapi()["paths"]
    allowed, refused = [], 0
    for path, methods in operations.items():
        for method in methods:
            address = path.replace("{sha256}", SHA).replace("{digest}", SHA).replace("{", "").replace("}", "")
            address = f"http://127.0.0.1:8765{address}"
            told = lab.request(method.upper(), address, content=b"{}", headers=lab.agent)
            if told.status_code in (401, 403):
                refused += 1
            else:
                allowed.append(f"{method} {path.removeprefix('/api/v1/')}")
    own = {"post lab/agents", "post lab/agents/leave", "post lab/claims", "get lab/parcels/{digest}"}
    own |= {f"post lab/leases/{{fence}}/{verb}" for verb in ("answer", "beat", "deliver", "release")} | {
        "get lab/files/{sha256}"
    }
    own |= {"put lab/leases/{fence}/artifacts/{result_id}/{name}"}
    anyones = {"get about", "post session", "delete session"}  # about oneself
    assert {*allowed} - anyones == own
    assert refused > 40


def test_people_cannot_act_as_agents(lab: Any) -> None:
    for someone in (lab.mia, lab.root):
        assert lab.post("lab/claims", json={"machine": "a"}, headers=someone).status_code == 403
        assert lab.get(f"lab/files/{SHA}", headers=someone).status_code == 403


def test_a_file_is_kept_only_if_it_is_the_one_that_is_named(lab: Any) -> None:
    other = hashlib.sha256(b"other").hexdigest()
    assert lab.post("lab/missing", json={"digests": [SHA, other]}, headers=lab.mia).json() == {"missing": [other]}
    assert lab.put(f"lab/files/{other}", content=b"something else", headers=lab.mia).status_code == 400
    assert lab.post("lab/missing", json={"digests": [other]}, headers=lab.mia).json() == {"missing": [other]}
    assert lab.put(f"lab/files/{SHA}", content=MODEL, headers=lab.mia).json()["added"] is False
    for name in ("x" * 64, "../" + "a" * 61, SHA.upper()):
        assert 400 <= lab.put(f"lab/files/{name}", content=b"", headers=lab.mia).status_code < 500
    desk = lab.made.state.context.lab
    assert desk.files.path(SHA).stat().st_mode & 0o077 == 0
    long_ago = time.time() - 10 * 86400
    lab.post("lab/submissions", json=_submission("r4", "four"), headers=lab.mia)
    os.utime(desk.files.path(SHA), (long_ago, long_ago))
    assert desk.prune() == 0  # a job needs it
    lab.post("lab/submissions/r4/cancel", json={}, headers=lab.mia)
    assert desk.prune() == len(MODEL) and not desk.files.path(SHA).exists()
    told = lab.post("lab/submissions", json=_submission("r5", "five"), headers=lab.mia)
    assert told.status_code == 409 and SHA in told.json()["error"]
    lab.put(f"lab/files/{SHA}", content=MODEL, headers=lab.mia)


def test_who_only_knows_the_digest_of_a_file_cannot_have_it_read(lab: Any) -> None:
    secret = b"mia's own weights"
    digest = hashlib.sha256(secret).hexdigest()
    parcel = {**PARCEL, "files": [{**FILE, "sha256": digest, "size": len(secret)}]}
    assert lab.put(f"lab/files/{digest}", content=secret, headers=lab.mia).status_code == 201
    assert lab.post("lab/missing", json={"digests": [digest]}, headers=lab.leo).json() == {"missing": [digest]}
    wish = _submission("s1", "one", parcels=[parcel])
    assert digest in lab.post("lab/submissions", json=wish, headers=lab.leo).json()["error"]
    assert lab.put(f"lab/files/{digest}", content=b"a guess", headers=lab.leo).status_code == 400
    assert digest in lab.post("lab/submissions", json=wish, headers=lab.leo).json()["error"]
    assert lab.put(f"lab/files/{digest}", content=secret, headers=lab.leo).json()["added"] is False
    assert lab.post("lab/submissions", json=wish, headers=lab.leo).status_code == 200
    lab.post("lab/submissions/s1/cancel", json={}, headers=lab.leo)


def test_room_is_counted_by_what_comes_not_by_what_is_said(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = lab.made.state.context.lab.files
    kept = sum(path.stat().st_size for path in files._all())
    monkeypatch.setattr(files, "_most", kept + 1000)
    monkeypatch.setattr(files, "_total", None)
    content = bytes(range(256)) * 8
    digest = hashlib.sha256(content).hexdigest()
    whole = lab.put(f"lab/files/{digest}", content=iter([content[:900], content[900:]]), headers=lab.mia)
    assert whole.status_code == 507, whole.text  # nothing was said of the size
    assert not files.path(digest).exists() and files._total == kept
    small = hashlib.sha256(b"small").hexdigest()
    assert lab.put(f"lab/files/{small}", content=b"small", headers=lab.mia).status_code == 201
    assert files._total == kept + 5


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ({"selector": "cpu=*Xeon*"}, 409, "nearest: a, but for cpu=*Xeon* (it is AMD EPYC)"),
        ({"selector": "a b"}, 400, "no condition"),
        ({"where": "some"}, 400, "any or each"),
        ({"priority": 1000}, 400, "priority"),
        ({"jobs": []}, 400, "jobs"),
        ({"parcels": [{"files": [{**FILE, "path": "/home/../etc/passwd"}]}]}, 400, "absolute path"),
        ({"parcels": [{"files": [{**FILE, "sha256": "abc"}]}]}, 400, "SHA-256"),
        ({"parcels": [{"variables": {"LD_PRELOAD": "x"}}]}, 400, "LD_PRELOAD"),
        ({"parcels": []}, 400, "parcel"),
        ({"parcels": [{"places": ["bin/sh"]}]}, 400, "absolute path"),
        ({"jobs": [{"work": _work("machine control: mine"), "parcel": 0}]}, 400, "only this server asks for controls"),
        ({"jobs": [{"work": _work(" Machine Control: x"), "parcel": 0}]}, 400, "only this server asks for controls"),
        ({"jobs": [{"work": {**_work("x"), "rounds": 10_000}, "parcel": 0}] * 11}, 400, "110,000 results in all"),
    ],
)
def test_a_submission_that_cannot_be_is_refused(lab: Any, words: dict[str, Any], status: int, said: str) -> None:
    told = lab.post("lab/submissions", json=_submission("rx", "x", **words), headers=lab.mia)
    assert told.status_code == status
    assert said in f"{told.json()['error']} {told.json()['remedy']}"


def test_machines_are_drained_reserved_and_put_into_quarantine(lab: Any) -> None:
    assert lab.post("lab/machines/a/drain", json={"reason": "new fan"}, headers=lab.mia).status_code == 200
    each = lab.post("lab/submissions", json=_submission("e0", "one", where="each"), headers=lab.mia)
    assert each.status_code == 409 and "a is drained by mia: new fan" in each.json()["error"]
    assert lab.post("lab/machines/a/resume", headers=lab.mia).status_code == 200
    assert lab.post("lab/machines/a/resume", headers=lab.mia).status_code == 404
    assert lab.post("lab/machines/a/quarantine", json={}, headers=lab.mia).status_code == 400
    assert lab.post("lab/machines/a/quarantine", json={"reason": "slow"}, headers=lab.mia).status_code == 200
    assert lab.store.quarantines("key of a")[0].reason == "slow"
    lab.post("lab/submissions", json=_submission("r6", "six"), headers=lab.mia)
    assert _claim(lab) is None
    assert lab.post("lab/machines/a/resume", headers=lab.mia).status_code == 200
    until = int((time.time() + 3600) * 1000)
    assert lab.post("lab/machines/a/reserve", json={"until": until}, headers=lab.leo).status_code == 200
    taken = lab.post("lab/machines/a/reserve", json={"until": until}, headers=lab.mia)
    assert taken.status_code == 409 and "leo" in taken.json()["error"]
    assert lab.post("lab/machines/a/reserve", json={"who": "mia"}, headers=lab.leo).status_code == 403
    assert _claim(lab) is None  # it is mia's job
    assert lab.post("lab/machines/a/release", headers=lab.mia).status_code == 403
    assert lab.post("lab/machines/a/release", headers=lab.leo).status_code == 200
    lease = _claim(lab)
    assert lease is not None
    assert lab.delete("lab/machines/a", headers=lab.mia).status_code == 409  # at work
    assert lab.post("lab/machines/nobody/drain", json={}, headers=lab.mia).status_code == 404
    lab.post("lab/submissions/r6/cancel", json={}, headers=lab.mia)


def test_each_machine_that_fits_gets_every_case(lab: Any) -> None:
    machines = [{"name": name, "facts": {"rack": "7"}} for name in ("b", "c")]
    lab.post("lab/agents", json={"agent": "b", "machines": machines}, headers=lab.agent)
    wish = _submission("e1", "one", "two", where="each", selector="rack=7")
    assert lab.post("lab/submissions", json=wish, headers=lab.mia).json() == {
        "run": "e1",
        "jobs": 4,
        "machines": ["b", "c"],
    }
    assert lab.store.header("e1").planned == 8
    given = [_claim(lab, name) for name in ("b", "c")]
    assert [lease.work.case.name for lease in given if lease] == ["one", "one"]
    assert lab.post("lab/agents/leave", json={"machines": ["b", "c"]}, headers=lab.agent).status_code == 204
    assert not any(machine.is_offered for machine in lab.store.lab.machines() if machine.name in ("b", "c"))


def test_on_ones_own_machine_an_agent_needs_no_token(server: Any) -> None:
    told = server.post("lab/agents", json={"agent": "here", "machines": [{"name": "here"}]})
    assert told.status_code == 200 and abs(told.json()["now"] - time.time()) < 60
    assert server.post("lab/claims", json={"machine": "here", "wait": 0}).json()["lease"] is None
    bad = server.post("lab/agents", json={"agent": "here", "machines": [{"name": "../x"}]})
    assert bad.status_code == 400 and "name" in bad.json()["error"]
    assert Path(server.settings.artifacts).name == "artifacts"


def test_a_machine_runs_its_control_benchmark_now_and_then_also_in_quarantine(
    serving: Callable[..., Any], tmp_path: Path
) -> None:
    with serving(tmp_path, lab_control=3600.0) as lab:
        lab.agent = {}
        machine = {"name": "a", "key": "key of a", "facts": {"python": "3.12.1"}}
        lab.post("lab/agents", json={"agent": "a", "machines": [machine]})
        lab.post("lab/machines/a/quarantine", json={"reason": "slow"})
        lab.post("lab/machines/a/reserve", json={"who": "leo"})
        desk = lab.made.state.context.lab
        assert desk.submit_controls() == ["a"] and desk.submit_controls() == []
        lease = _claim(lab)
        assert lease is not None and lease.job.who == "benchwright" and lease.job.priority == 50
        assert lease.work.case.params["python"] == "3.12" and lab.store.header(lease.job.run).tags == (CONTROL_TAG,)


def test_the_next_control_comes_sooner_where_the_last_one_stood_out_or_a_machine_is_held_for_one(
    serving: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minutes, looks, stood_out = [0], [], {"b"}
    began = time.time_ns() // 1000
    monkeypatch.setattr("benchwright.server.lab_desk.microseconds", lambda: began + minutes[0] * 60_000_000)
    monkeypatch.setattr("benchwright.server.lab_desk.ABSENT", 1e9)

    def look(store: object, key: str) -> bool:
        looks.append(key)
        return key in stood_out

    monkeypatch.setattr("benchwright.server.lab_desk.is_unusual", look)
    with serving(tmp_path, lab_control=3600.0) as lab:
        lab.agent = {}
        machines = [{"name": name, "key": name, "facts": {}} for name in "abc"]
        lab.post("lab/agents", json={"agent": "a", "machines": machines})
        desk = lab.made.state.context.lab
        assert sorted(desk.submit_controls()) == ["a", "b", "c"] and looks == []
        lab.store.quarantine(Quarantine(machine="c", since=began, reason="slow", finding="f1"))
        for minute, due in ((9, []), (11, ["b", "c"]), (12, []), (22, ["b", "c"]), (61, ["a", "b", "c"])):
            minutes[0] = minute
            assert sorted(desk.submit_controls()) == due, minute
        assert looks.count("a") == 1, "a control is looked at once"

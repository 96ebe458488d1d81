"""What follows when FAI-PEP's rule sees a regression: every commit once more, and if that says the same, a record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchwright.compat.harness import detection
from benchwright.compat.harness import flags as harness_flags
from benchwright.compat.harness.detection import CommitPoint
from benchwright.compat.harness.documents import HarnessDocument
from benchwright.errors import UserError

VERIFY, REGRESS = "verify", "regress"
_OF_THE_FIRST_RUN = ("regression_commits", "run_type", "regressed_types")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """One more run of one test on one device."""

    info: dict[str, Any]  # the document of --info
    run_type: str
    document: HarnessDocument  # of the run that raised the suspicion: says which test, and where
    regressed: tuple[str, ...] = ()  # entries to mark

    def words(self, arguments: Sequence[str]) -> list[str]:
        """The command line of this run: of a flag that is given twice, the last counts."""
        types = ["--regressed_types", json.dumps(self.regressed)] if self.regressed else []
        return [*arguments, "--info", json.dumps(self.info), "--run_type", self.run_type, *types]

    def concerns(self, net: str, identifier: str, metric: str) -> bool:
        """Whether this run is about the test with that net, identifier and metric."""
        meta = self.document.meta
        return (net, identifier or net, metric) == (meta["net_name"], meta["identifier"], meta["metric"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """Benchmark, verify, regress. `again` makes a run and returns its exit code; `say` tells a person."""

    root: Path  # of the local reporter
    commits: Sequence[str]  # newest first
    again: Callable[[Rerun], int]
    say: Callable[[str], None]

    def climb(self, documents: Sequence[HarnessDocument]) -> int:
        """Looks at each test that was benchmarked. The worst exit code of the runs that this took; 0 without any."""
        judged = (document for document in documents if document.meta["metric"] == detection.METRIC)
        return max((self._judge(document) for document in judged), default=0)

    def _judge(self, document: HarnessDocument) -> int:
        seen = detection.read_points(self.root, document, self.commits)
        suspicious = detection.find_regressed(seen)
        if not suspicious:
            return 0
        label = f"{document.meta['net_name']} {document.meta['identifier']}"
        self.say(f"{label}: {', '.join(suspicious)} may have regressed; measuring {len(seen)} commits again")
        code = max(self._run_again(point, VERIFY, document) for point in reversed(seen))
        seen = detection.read_points(self.root, document, self.commits)
        confirmed = detection.find_regressed(seen)
        if not confirmed:
            self.say(f"{label}: no regression, now that every commit was measured again")
            return code
        culprit = seen[1]
        self.say(f"{label}: {', '.join(confirmed)} regressed at {culprit.commit}")
        return max(code, self._run_again(culprit, REGRESS, document, tuple(confirmed)))

    def _run_again(
        self, point: CommitPoint, run_type: str, document: HarnessDocument, regressed: tuple[str, ...] = ()
    ) -> int:
        try:
            step = Rerun(info=recorded_info(point), run_type=run_type, document=document, regressed=regressed)
            return self.again(step)
        except UserError as error:  # a program that was removed meanwhile must not hide what the others say
            self.say(f"{point.commit} cannot be measured again: {error}")
            return 1


def recorded_info(point: CommitPoint) -> dict[str, Any]:
    """The `--info` that a commit was measured with, or a `UserError`."""
    text = harness_flags.info_of(point.command)
    document = harness_flags.json_object(text, f"--info of {point.commit}")
    if not document:
        raise UserError(f"the results of {point.commit} do not say what was run")
    return {name: value for name, value in document.items() if name not in _OF_THE_FIRST_RUN}


def commits_of(document: object) -> list[str]:
    """The `regression_commits` of an `--info` document, newest first."""
    listed = document if isinstance(document, list) else []
    found = [*_commits(listed)]
    times = [time for _, time in found if time is not None]
    ascending = len(times) > 1 and times[0] < times[-1]
    return [commit for commit, _ in (reversed(found) if ascending else found)]


def _commits(listed: Sequence[object]) -> Iterator[tuple[str, float | None]]:
    for item in listed:
        commit, at = (item.get("commit"), item.get("commit_time")) if isinstance(item, dict) else (item, None)
        if isinstance(commit, str) and commit:
            yield commit, float(at) if isinstance(at, int | float) else None

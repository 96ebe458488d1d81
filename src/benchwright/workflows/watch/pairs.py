"""Measures the commit before a suspected change and the one after it once more, in pairs, before anybody is told.

A history compares runs of different days, and a machine has moods. Pairs of fresh processes that take turns meet the
same mood on both sides. So a few minutes settle what a history alone could only wait for. The question is whether at
least half of the suspected change is there; the answer goes into the finding's story, the pairs are not kept as runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchwright import config, schema
from benchwright.analysis import detection
from benchwright.errors import BenchwrightError
from benchwright.events import Listener, Noted
from benchwright.execution.builds import RevisionBuilder
from benchwright.execution.session import Plan
from benchwright.records import Case, Verdict
from benchwright.records.findings import REFUTED, Finding, Remark, State
from benchwright.records.trials import AbRules, TrialRow
from benchwright.report.findings import change_text
from benchwright.schema.parsing import json_mapping
from benchwright.store import Store
from benchwright.targets.sources import Request
from benchwright.workflows import run
from benchwright.workflows.ab.trial import MatchedCases, TrialDestination, match
from benchwright.workflows.ab.trial import trial as run_trial

PAIRS = 20  # of one finding, at most
AT_ONCE = 2  # findings that are measured again after one commit, at most
_HALF = 0.5
_SHORT = 12  # digits of a commit


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """How the two commits of a suspected change are measured again, in pairs."""

    builder: RevisionBuilder
    request: Request
    store: Store
    pairs: int
    smallest: float
    cpus: Sequence[int]
    listener: Listener
    others: Sequence[RevisionBuilder] = ()  # on machines that are equal to that of `builder`

    def settle(self, finding: Finding) -> Finding:
        """The finding as it is after its two sides were measured again; whatever goes wrong leaves it as it was."""
        old, new = finding.revisions[0], finding.revisions[-1]
        ends = f"{old[:_SHORT]} and {new[:_SHORT]}"
        self._say(
            f"{finding.case} {finding.metric} may be {change_text(finding)}: measuring {ends} again, in {self.pairs} "
            "pairs at most, before this is reported"
        )
        try:
            row, seconds = self._measure_pairs(finding, old, new)
        except BenchwrightError as error:
            verdict, said = Verdict.UNCLEAR, f"{ends} could not be measured again: {error.message}"
            effect = None
        else:
            effect = row.effect.point if row.effect else None
            count = sum(len(heat.pairs) for heat in row.heats[:1])
            verdict = row.verdict
            said = f"{ends} measured again, {count} pairs in {seconds:.0f} s: {row.why}"
        self._say(f"{finding.case} {finding.metric}: {said}")
        return record_verdict(self.store, finding, verdict, said, effect)

    def _measure_pairs(self, finding: Finding, old: str, new: str) -> tuple[TrialRow, float]:
        from benchwright.stats.confirmation import question

        builder = self._builder_of(finding)
        control, treatment = builder.prepare(old), builder.prepare(new)
        for built in (control, treatment):
            if built.failure is not None:
                raise BenchwrightError(built.failure.message)
        matched, usual = match(control, treatment, self.request), config.load()
        cases = [
            (run.with_usual_length(a, usual), run.with_usual_length(b, usual))
            for a, b in matched.cases
            if _is_case(finding, a)
        ]
        if not cases:
            raise BenchwrightError(f"the two commits do not both have the case {finding.case}")
        rules = AbRules(
            smallest=question(finding.effect.point, self.smallest),
            pairs=self.pairs,
            metric=finding.metric,
            verify=False,
        )
        keeping = TrialDestination(listener=self.listener, labels=(old[:_SHORT], new[:_SHORT]))
        trial = run_trial(
            control, treatment, MatchedCases(cases=tuple(cases[:1])), rules, keeping, Plan(cpus=self.cpus)
        )
        return trial.rows[0], trial.seconds

    def _builder_of(self, finding: Finding) -> RevisionBuilder:
        """The one on the machine that has the series, where several machines share the cases out."""
        for one in self.others:
            known = one.host.last_environment if one.host is not None else None
            if known is not None and schema.environment_key(known) == finding.machine:
                return one
        return self.builder

    def _say(self, text: str) -> None:
        self.listener(Noted(text=text))


def is_between_measured(finding: Finding, measured: Container[str]) -> bool:
    """Whether the finding is a step between two commits that this watch has measured, and that pairs can judge.

    Pairs judge ratios: of failed requests, of which there are none where all is well, the history alone says enough.
    """
    revisions = finding.revisions
    return (
        finding.drift is None
        and finding.has_ratio
        and len(revisions) > 1
        and revisions[0] in measured
        and revisions[-1] in measured
    )


def record_verdict(store: Store, finding: Finding, verdict: Verdict, said: str, effect: float | None = None) -> Finding:
    """Records what pairs say of a finding; `said` is that in words.

    The same verdict confirms it; one of the other direction, or none, resolves it without anybody being told. Where
    pairs could not tell, it is left; when their `effect` is less than half of what is suspected, it is doubted: then
    the series alone does not confirm it any more.
    """
    state = finding.state
    if verdict is finding.verdict:
        what, state = detection.CONFIRMED, State.OPEN if state is State.SUSPECTED else state
    elif verdict is not Verdict.UNCLEAR:
        what, state = REFUTED, State.RESOLVED
    elif effect is not None and math.log(effect) / math.log(finding.effect.point) < _HALF:
        what, state = detection.DOUBTED, State.SUSPECTED
    else:
        what = detection.UNDECIDED
    now = datetime.now(UTC).isoformat(timespec="seconds")
    remark = Remark(at=now, who=detection.OURS, what=what, text=said)
    return store.update_finding(finding.id, remark, state=state)


def _is_case(finding: Finding, case: Case) -> bool:
    params = json.loads(json.dumps(dict(case.params)))
    return case.name == finding.case and params == json_mapping(finding.params)

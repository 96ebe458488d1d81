"""What a rule would have done: counted from the findings that were kept, and honest about those that were not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from benchwright.analysis import rule_preview
from benchwright.analysis.rule_preview import preview_mute, preview_target, preview_threshold, recent_findings
from benchwright.records import Estimate, Verdict
from benchwright.records.findings import Finding, Mute, Remark, State, Threshold

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def finding(id: str, ratio: float = 1.1, days: float = 1, **changes: Any) -> Finding:
    fields: dict[str, Any] = {
        "id": id,
        "series": f"series-{id}",
        "case": "vision/resnet",
        "metric": "latency_p50",
        "before": Estimate(point=1.0, low=1.0, high=1.0),
        "after": Estimate(point=ratio, low=ratio, high=ratio),
        "effect": Estimate(point=ratio, low=ratio, high=ratio),
        "method": "test",
        "verdict": Verdict.WORSE if ratio > 1 else Verdict.BETTER,
        "found_at": (NOW - timedelta(days=days)).isoformat(),
        "remarks": (Remark(at="", who="benchwright", what="opened"),),
    }
    return Finding(**(fields | changes))


class Kept:
    """A store of some findings and rules."""

    def __init__(self, *found: Finding, mutes: Any = (), thresholds: Any = ()) -> None:
        self._found, self._mutes, self._thresholds = found, mutes, thresholds

    def findings(self, *, limit: int = 1000) -> list[Finding]:
        return list(self._found[:limit])

    def mutes(self) -> list[Mute]:
        return list(self._mutes)

    def thresholds(self) -> list[Threshold]:
        return list(self._thresholds)


def recent(*found: Finding, **rules: Any) -> rule_preview.RecentFindings:
    return recent_findings(Kept(*found, **rules), now=NOW)


def test_what_people_were_told_of_in_the_last_90_days_counts() -> None:
    suspected = (Remark(at="", who="benchwright", what="suspected"),)
    confirmed = (*suspected, Remark(at="", who="benchwright", what="confirmed"))
    seen = recent(
        finding("open"),
        finding("resolved", state=State.RESOLVED),
        finding("suspected", state=State.SUSPECTED, remarks=suspected),
        finding("vanished", state=State.RESOLVED, remarks=suspected),
        finding("confirmed", remarks=confirmed),
        finding("edge", days=90),
        finding("old", days=90.1),
        finding("undated", found_at=""),
    )
    assert [one.id for one in seen.found] == ["open", "resolved", "confirmed", "edge"] and seen.is_all


def test_a_mute_says_what_it_would_have_silenced() -> None:
    seen = recent(finding("a"), finding("b", case="text/bert"), finding("c"))
    told = preview_mute(seen, "vision/*")
    assert (told.of, told.matching, told.told) == (3, 2, 0) and [one.id for one in told.findings] == ["a", "c"]
    assert told.sentence == "In the last 90 days people were told of 3 changes. This would have silenced 2 of them."
    assert preview_mute(seen, "series-b").matching == 1
    assert preview_mute(seen, "*").sentence.endswith("silenced all of them.")
    assert preview_mute(seen, "x").sentence.endswith("silenced none of them.")


def test_a_threshold_says_what_it_would_have_told() -> None:
    seen = recent(
        finding("large", 1.2), finding("small", 1.03), finding("faster", 1 / 1.06), finding("text", case="text/bert")
    )
    told = preview_threshold(seen, Threshold(case="vision/*", smallest=0.05))
    assert (told.matching, told.told, told.is_complete) == (3, 2, True)
    assert [one.id for one in told.findings] == ["small"]  # what would be silent
    assert "3 of them were in these cases; this would have told of 2." in told.sentence
    assert preview_threshold(seen, Threshold(case="*", metric="rss_peak", smallest=0.05)).matching == 0


def test_a_lower_threshold_says_that_smaller_changes_were_not_kept() -> None:
    rule = Threshold(case="vision/*", smallest=0.05)
    seen = recent(finding("a"), thresholds=[rule])
    told = preview_threshold(seen, Threshold(case="vision/*", smallest=0.02))
    assert not told.is_complete and "Changes below 5 % were not kept: it may have been more." in told.sentence
    assert preview_threshold(seen, Threshold(case="vision/*", smallest=0.08)).is_complete
    assert not preview_threshold(seen, Threshold(case="text/*", smallest=0.005)).is_complete  # below the usual 1 %


def test_a_threshold_leaves_to_others_what_fits_them_better() -> None:
    seen = recent(finding("a", 1.03), thresholds=[Threshold(case="vision/resnet", smallest=0.01)])
    assert preview_threshold(seen, Threshold(case="vision/*", smallest=0.5)).matching == 0


@pytest.mark.parametrize(
    ("causes", "sentence"),
    [
        ([], "This would have told you never in the last 90 days."),
        (["x"], "This would have told you once in the last 90 days, of 1 change."),
        (["x", "x", "y", ""], "This would have told you 3 times in the last 90 days, of 4 changes."),
    ],
)
def test_findings_of_one_cause_are_one_message(causes: list[str], sentence: str) -> None:
    seen = recent(*(finding(str(i), cause=cause) for i, cause in enumerate(causes)), finding("faster", 0.9))
    told = preview_target(seen, lambda one: one.verdict is Verdict.WORSE)
    assert told.sentence == sentence and told.times == len({cause or "none" for cause in causes})


def test_only_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_preview, "MOST", 3)
    many = recent(*(finding(str(i)) for i in range(5)))
    told = preview_mute(many, "*")
    assert told.of == 3 and not told.is_complete and "Only the newest 3 findings" in told.sentence
    old = recent(*(finding(str(i), days=i * 60) for i in range(5)))
    assert preview_mute(old, "*").is_complete  # older ones do not count anyway


def test_where_nothing_was_found_no_more_is_said() -> None:
    assert preview_mute(recent(), "*").sentence == "In the last 90 days people were told of no change."
    assert preview_threshold(recent(finding("a")), Threshold(case="x", smallest=0.05)).sentence.endswith(
        "told of 1 change. None of them was in these cases."
    )


def test_findings_are_read_once_in_a_while_and_rules_each_time() -> None:
    now = [0.0]
    reader = rule_preview.RecentFindingsReader(clock=lambda: now[0])
    fresh = finding("a", found_at=datetime.now(UTC).isoformat())
    assert len(reader.read(Kept(fresh)).found) == 1
    rule = Threshold(case="x", smallest=0.1)
    seen = reader.read(Kept(thresholds=[rule]))
    assert len(seen.found) == 1 and list(seen.rules.thresholds) == [rule]
    now[0] = rule_preview.FRESH + 1
    assert reader.read(Kept()).found == []

"""Treatment and control in one: each entry with both summaries and their difference. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchwright.compat.harness.specs.settings import percent_of
from benchwright.compat.harness.summaries import Summary, SummaryRules, percentile, summarize_entry, summary

DECIMALS = 15
Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedEntries:
    """Entries as documents hold them, and what should be said about them."""

    data: dict[str, dict[str, Any]]
    warnings: tuple[str, ...] = ()


def merge_entries(
    treatment: Entries,
    control: Entries | None = None,
    *,
    rules: SummaryRules = SummaryRules.TODAY,
    statistics: Sequence[str] = (),
) -> MergedEntries:
    """The treatment's entries, summarised, with the control's beside where there is one of that name.

    An entry of metric error brings its own control (the golden values) and its own differences. What the control does
    not have, or has in another unit, keeps its summary, has no difference, and is a warning.
    """
    data: dict[str, dict[str, Any]] = {}
    warnings: list[str] = []
    for key, entry in treatment.items():
        one = summarize_entry(entry, rules=rules, statistics=statistics)
        if "control_values" in entry:
            one |= _compare_with_golden(entry, rules, statistics)
        elif control is not None:
            other = summarize_entry(control.get(key, {}), rules=rules, statistics=statistics)
            if reason := _explain_missing(one, other, known=key in control):
                warnings.append(f"{key}: {reason}")
            elif other["summary"]:
                one |= _compare_with_control(one, other, rules)
        one.pop("diff_values", None)
        data[key] = one
    return MergedEntries(data=data, warnings=tuple(warnings))


def difference(treatment: Mapping[str, float | None], control: Mapping[str, float | None]) -> Summary:
    """Treatment minus control: of a percentile K the control's 100 - K, so the best case of one meets the worst of
    the other; of anything else the plain difference. What either does not have is left out.
    """
    percents = {percent_of(name): value for name, value in control.items()}
    found: Summary = {}
    for name, ours in treatment.items():
        percent = percent_of(name)
        theirs = control.get(name) if percent is None else percents.get(_opposite(percent))
        if ours is not None and theirs is not None:
            found[name] = round(ours - theirs, DECIMALS)
    return found


def _compare_with_golden(entry: Mapping[str, Any], rules: SummaryRules, statistics: Sequence[str]) -> dict[str, Any]:
    """Output beside golden values: the differences are those of the elements, not of the summaries."""
    golden, differences = [*entry["control_values"]], [*entry.get("diff_values", ())]
    found = summary(differences, rules=rules, statistics=statistics)
    return {
        "control_values": sorted(golden) if rules is SummaryRules.SEED else golden,
        "control_summary": summary(golden, rules=rules, statistics=statistics),
        "diff_summary": {name: value if value is None else round(value, DECIMALS) for name, value in found.items()},
    }


def _compare_with_control(one: Mapping[str, Any], other: Mapping[str, Any], rules: SummaryRules) -> dict[str, Any]:
    complete = dict(other["summary"])
    ordered = sorted(other["values"])
    for name in one["summary"]:  # the opposite of a percentile that was asked for may not have been asked for
        percent = percent_of(name)
        if percent is not None and ordered and not any(percent_of(known) == _opposite(percent) for known in complete):
            complete[f"p{_opposite(percent):g}"] = percentile(ordered, _opposite(percent), rules)
    return {
        "control_values": other["values"],
        "control_summary": other["summary"],
        "diff_summary": difference(one["summary"], complete),
    }


def _explain_missing(one: Mapping[str, Any], other: Mapping[str, Any], *, known: bool) -> str:
    """Says why there is no difference where there should be one; "" otherwise."""
    if not one["summary"]:
        return ""  # a text, which has none
    if not known:
        return "the control has no such entry, so there is no difference"
    if not other["summary"]:
        return "the control has no values, so there is no difference"
    if one.get("unit") != other.get("unit"):
        return f"the treatment is in {one.get('unit')}, the control in {other.get('unit')}; they are not subtracted"
    return ""


def _opposite(percent: float) -> float:
    return round(100 - percent, 9)

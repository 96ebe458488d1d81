"""From a spec file to tests that can be run: loaded, merged, expanded, with their files found. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchwright.compat.harness.specs import commands as running
from benchwright.compat.harness.specs import expansion, loader, locations, notices, settings
from benchwright.compat.harness.specs.description import describe_plan
from benchwright.compat.harness.specs.loader import merge_mappings
from benchwright.compat.harness.specs.plans import FileEntry, PlannedTest, Role, SpecPlan, SpecRequest
from benchwright.compat.harness.specs.test_pass import to_pass
from benchwright.compat.harness.specs.validator import validate
from benchwright.targets.specs.places import SpecProblem, errors
from benchwright.targets.specs.reader import refusal

__all__ = ["FileEntry", "PlannedTest", "Role", "SpecPlan", "SpecRequest", "describe_plan", "plan", "to_pass"]


def plan(file: Path, asked: SpecRequest) -> SpecPlan:
    """Every test of the spec, or of the specs of a list, in order; a `DecodeError` tells all that is wrong with it.

    A test that cannot be run here is in the plan, with the reason.
    """
    problems: list[SpecProblem] = []
    specs = loader.load_specs(file, asked.string_map, problems)
    tests = [test for spec in specs for test in tests_of_spec(spec, asked, problems)]
    wrong = errors(problems)
    if wrong:
        raise refusal(wrong)
    return SpecPlan(file=file, tests=tuple(tests), notices=tuple(problems))


def tests_of_spec(
    spec: loader.OlderSpec, asked: SpecRequest, problems: list[SpecProblem], *, complete: bool = True
) -> list[PlannedTest]:
    """The tests of one spec if it is fine; what is wrong or worth knowing is added to `problems`.

    Unless `complete`, the tokens of the command line are not known yet.
    """
    wrong = validate(spec.value, spec.document, asked.framework, complete=complete)
    problems += wrong
    return [] if wrong else _plan_tests(spec, asked, problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WrittenTest:
    """A test of a spec, as it stands in the file."""

    spec: loader.OlderSpec
    model: Mapping[str, Any]
    asked: SpecRequest
    at: int


def _plan_tests(spec: loader.OlderSpec, asked: SpecRequest, problems: list[SpecProblem]) -> list[PlannedTest]:
    model = _merge_model(spec, asked, problems)
    expanded: list[dict[str, Any]] = []
    at: list[int] = []
    for i, test in enumerate(spec.value["tests"]):
        tell = expansion.problem_of(spec.document.at, "tests", i, problems=problems)
        several = expansion.expand_test(test, tell)
        expanded += several
        at += [i] * len(several)
        problems += notices.test_notices(test, i, spec.document)
    found = [
        _plan_test(one, _WrittenTest(spec=spec, model=model, asked=asked, at=i), problems)
        for one, i in zip(expansion.number_tests(expanded), at, strict=True)
    ]
    problems += notices.unresolved_placeholders(found, asked)
    return found


def _merge_model(spec: loader.OlderSpec, asked: SpecRequest, problems: list[SpecProblem]) -> dict[str, Any]:
    """The model with what the list and the command line add to it; what they say in vain is told."""
    seed = all(running.is_seed(test) for test in spec.value["tests"])
    further: Any = asked.info.get("meta")
    further = dict(further) if isinstance(further, Mapping) else {}
    appended = {"--backend": asked.backend, "--wipe_cache": asked.wipe_cache}  # in this order, after what was typed
    typed = " ".join(filter(None, [asked.command_args, *(f"{flag} {text}" for flag, text in appended.items() if text)]))
    if typed:
        further["command_args"] = typed
    near: Mapping[str, Any] = spec.value["model"]
    listed = {key: value for key, value in spec.meta.items() if key != "timeout"}
    model, hidden = merge_mappings(near, listed, missing_only=seed)
    problems += [notices.hidden_value(one, spec.document.at("model", *one.path), "the list's `meta`") for one in hidden]
    model, hidden = merge_mappings(model, further, missing_only=seed)
    problems += [notices.hidden_value(one, _place_of_value(spec, one.path), "the command line") for one in hidden]
    problems += notices.list_timeout(spec, asked)
    return model


def _place_of_value(spec: loader.OlderSpec, path: tuple[str, ...]) -> str:
    """Returns the place of the value that counts: in the model, or in the list that names it."""
    if ("model", *path) in spec.document.places or spec.listed is None:
        return spec.document.at("model", *path)
    return spec.listed.at("meta", *path)


def _plan_test(test: Mapping[str, Any], place: _WrittenTest, problems: list[SpecProblem]) -> PlannedTest:
    model, document = place.model, place.spec.document
    framework = place.asked.framework or str(model.get("framework") or "")
    metric, net = str(test["metric"]), str(model["name"])
    files, reasons = _resolve_files(test, place)
    problems += notices.equal_names(files, document.at("tests", place.at))
    inputs = test.get("inputs") if metric != "generic" else None
    inputs = inputs if isinstance(inputs, Mapping) else {}
    found = PlannedTest(
        file=place.spec.file.absolute(),
        place=document.at("tests", place.at),
        net=net,
        format=str(model["format"]),
        identifier=str(test.get("identifier") or net),
        metric=metric,
        framework=framework,
        commands=running.commands(test, model, framework),
        model=model,
        test=test,
        group=str(model.get("group") or ""),
        files=files,
        shapes={name: tuple(one["shapes"][0]) for name, one in inputs.items()},
        dtypes={name: str(one["type"]) for name, one in inputs.items()},
        flags=running.flags(test, model, framework),
        statistics=tuple(str(name) for name in test.get("statistics", ())),
        seed_dialect=running.is_seed(test),
        power=settings.power(test),
        reason="; ".join(dict.fromkeys([*notices.obstacles(test, model, framework, files), *reasons])),
    )
    return _apply_request(found, place.asked)


def _apply_request(one: PlannedTest, asked: SpecRequest) -> PlannedTest:
    """Returns the test with its settings: from the test, its model and the command line."""
    test, model = one.test, one.model
    return replace(
        one,
        cooldown=settings.number(model["cooldown"], 0.0) if "cooldown" in model else None,
        iterations=settings.whole(test.get("iter"), -1),
        warmup=settings.whole(test.get("warmup"), -1),
        repeat=max(1, settings.whole(model.get("repeat"), 1)),
        timeout=settings.timeout(test, model, asked),
        env=settings.env(test, model, asked),
        cpus=settings.cpus(test, model, asked),
        sleep_before_run=settings.sleep_before_run(test, model, asked),
        tokens=dict(asked.string_map),
        log_output=settings.is_true(test.get("log_output")) or settings.is_true(model.get("log_output")),
    )


def _resolve_files(test: Mapping[str, Any], place: _WrittenTest) -> tuple[tuple[FileEntry, ...], list[str]]:
    entries: list[FileEntry] = []
    reasons: list[str] = []
    for found in locations.list_files(place.model, test, place.at):
        entry, reason = locations.make_entry(
            found,
            spec=place.spec.file,
            asked=place.asked,
            metric=str(test["metric"]),
            place=place.spec.document.at(*found.path),
        )
        entries.append(entry)
        reasons += [reason] if reason else []
    return tuple(entries), reasons

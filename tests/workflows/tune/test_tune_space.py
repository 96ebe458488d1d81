"""The space of a race: which cells there are, on which axes, and how each is measured again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchwright.errors import OptionError
from benchwright.records import Case
from benchwright.records.races import MOST_CELLS, RaceGoal, RaceTerms
from benchwright.targets import sources
from benchwright.targets.sources import Request
from benchwright.workflows.tune.repeat import shared_arguments
from benchwright.workflows.tune.space import TuneSpace, plan_space

FAKE = "fake:constant?ms=1"


def _terms(space: TuneSpace, command: tuple[str, ...] = (FAKE,)) -> RaceTerms:
    goals = (RaceGoal(metric="throughput", higher=True),)
    return RaceTerms(axes=space.axes, goals=goals, places=space.places, command=command)


def test_what_varies_is_an_axis_and_every_cell_knows_its_values() -> None:
    request = Request(targets=[FAKE], batch_sizes=[4, 1, 2], copies=[1, 2])
    space = plan_space(request, {"sigma": [0.1, 0.2], "seed": [7]}, sources.plan)
    terms = _terms(space)
    assert {axis.name: axis.values for axis in space.axes} == {
        "batch_size": (1, 2, 4),
        "copies": (1, 2),
        "sigma": (0.1, 0.2),
    }
    assert len(space.cells) == 12 and space.places == ()
    for number, cell in enumerate(space.cells):
        settings = terms.settings(number)
        assert cell.case.inputs.batch_size == settings["batch_size"]
        assert cell.case.load.copies == settings["copies"]
        assert cell.case.target.options == {"sigma": settings["sigma"], "seed": 7}


def test_a_cell_is_measured_again_by_its_command_line() -> None:
    request = Request(targets=[FAKE, "fake:uniform"], batch_sizes=[1, 2], workers=[3], tags=["x"])
    space = plan_space(request, {"sigma": [0.1, 0.2], "seed": [7]}, sources.plan)
    terms = _terms(space, shared_arguments(request, {"sigma": [0.1, 0.2], "seed": [7]}, ()))
    assert {terms.repeat(number)[2] for number in range(len(space.cells))} == {FAKE, "fake:uniform"}
    line = terms.repeat(0)
    assert line[:3] == ("benchwright", "run", FAKE)
    assert line[3:] == ("--workers", "3", "--option", "seed=7", "--batch-size", "1", "--option", "sigma=0.1")


def test_the_flags_of_a_cell_stand_before_a_command() -> None:
    request = Request(targets=[], command=["true", "-x"], workers=[1, 2])
    space = plan_space(request, {}, sources.plan)
    terms = _terms(space, shared_arguments(request, {}, ()))
    assert terms.repeat(1) == ("benchwright", "run", "--workers", "2", "--", "true", "-x")


def test_an_option_of_one_runtime_makes_cells_of_that_runtime_only() -> None:
    request = Request(targets=["model"], runtimes=["onnxruntime", "openvino"])

    def plan(part: Request) -> list[Case]:
        fake = sources.plan(replace(part, targets=[FAKE], runtimes=(), options={}))[0]
        return [
            replace(
                fake,
                name="model",
                params={"runtime": runtime},
                target=replace(fake.target, runtime=runtime, options=sources.matrix.options_for(runtime, part)),
            )
            for runtime in part.runtimes
        ]

    own = plan_space(request, {"onnxruntime.threads": [1, 2]}, plan)
    labels = [_terms(own).label(number) for number in range(len(own.cells))]
    assert labels == [
        "runtime=onnxruntime onnxruntime.threads=1",
        "runtime=onnxruntime onnxruntime.threads=2",
        "runtime=openvino",
    ]
    without = plan_space(request, {"threads": [1, 2]}, plan, without={"openvino": ["threads"]})
    assert [cell.case.target.options for cell in without.cells] == [{"threads": 1}, {"threads": 2}, {}]


def test_hosts_are_an_axis() -> None:
    space = plan_space(Request(targets=[FAKE], batch_sizes=[1, 2]), {}, sources.plan, hosts=["ssh:a", "ssh:b"])
    assert [axis.name for axis in space.axes] == ["host", "batch_size"]
    assert {cell.host for cell in space.cells} == {"ssh:a", "ssh:b"}
    assert _terms(space).repeat(0)[-4:] == ("--host", "ssh:a", "--batch-size", "1")


def test_one_cell_has_no_axis() -> None:
    space = plan_space(Request(targets=[FAKE]), {}, sources.plan)
    assert space.axes == () and len(space.cells) == 1
    assert _terms(space).label(0) == "the only one"


def test_a_huge_space_is_refused_before_it_is_planned() -> None:
    def plan(part: Request) -> list[Case]:
        raise AssertionError("nothing is planned")

    sizes = list(range(1, 2 + MOST_CELLS // 2))
    with pytest.raises(OptionError, match="combinations are more than 4,096"):
        plan_space(Request(targets=[FAKE], batch_sizes=sizes, copies=[1, 2]), {}, plan)

"""How tasks and commands become several processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import DecodeError, OptionError, TargetError, UserError
from benchwright.targets import sources
from benchwright.targets.sources import Request
from benchwright.targets.tasks import binding, reader
from benchwright.targets.tasks.launchers import launch, read_launcher, warn_of_threads

TASK = """
[tasks.train]
command = ["python", "train.py", "--lr", "{lr}"]
launcher = LAUNCHER
scaling = "weak"
environment = { WORLD = "{processes}" }
[tasks.train.parameters]
lr = 0.1
"""


def _file(folder: Path, launcher: str, text: str = TASK) -> Path:
    path = folder / "tasks.toml"
    path.write_text(text.replace("LAUNCHER", launcher))
    return path


@pytest.mark.parametrize(
    ("launcher", "before"),
    [
        ('"torchrun"', "torchrun --standalone --nproc-per-node 2 --no-python"),
        ('"mpirun"', "mpirun -n 2"),
        ('"srun --ntasks={processes} --label"', "srun --ntasks=2 --label"),
        ('["mpirun", "-n", "{processes}", "-x", "LR={lr}"]', "mpirun -n 2 -x LR=0.1"),
    ],
)
def test_a_launcher_is_filled_in_before_the_command(tmp_path: Path, launcher: str, before: str) -> None:
    (task,) = reader.read(_file(tmp_path, launcher))
    ready = binding.bind(task, {"lr": 0.1, "processes": 2}, {})
    assert " ".join(ready.argv) == f"{before} python train.py --lr 0.1"
    assert (task.scaling, ready.workers, ready.environment["WORLD"]) == ("weak", 2, "2")


@pytest.mark.parametrize(
    ("launcher", "words"),
    [
        ('"torchrn"', "did you mean 'torchrun'"),
        ('["mpirun", "-n", "4"]', "does not say where the number of processes goes"),
        ('["mpirun", "-n", "{processes}", "{rate}"]', "there is no parameter 'rate'"),
        ('[""]', "is empty"),
        ("'\"torchrun'", "No closing quotation"),
        ("[3]", "launcher"),
    ],
)
def test_a_wrong_launcher_is_refused_with_its_place(tmp_path: Path, launcher: str, words: str) -> None:
    with pytest.raises(DecodeError) as caught:
        reader.read(_file(tmp_path, launcher))
    assert words in f"{caught.value.message} {caught.value.remedy}" and "tasks.train" in caught.value.message


def test_another_kind_of_scaling_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="unknown kind 'wek'"):
        reader.read(_file(tmp_path, '"mpirun"', TASK.replace('"weak"', '"wek"')))


def test_processes_are_a_dimension_of_a_task(tmp_path: Path) -> None:
    file = _file(tmp_path, '"mpirun"')
    found = sources.plan(Request(targets=[str(file)], processes=[1, 2, 4]))
    assert [case.params["processes"] for case in found] == [1, 2, 4]
    assert [case.params["processes"] for case in sources.plan(Request(targets=[str(file)]))] == [1]
    (other,) = sources.plan(Request(targets=[str(file)], processes=[2], launcher="srun -n {processes}"))
    assert other.target.options == {"launcher": "srun -n {processes}"}
    with pytest.raises(OptionError, match="processes=0"):
        sources.plan(Request(targets=[str(file)], processes=[0]))


def test_a_task_that_takes_no_number_of_processes_is_refused(tmp_path: Path) -> None:
    file = _file(tmp_path, "", '[tasks.train]\ncommand = "true"\n')
    with pytest.raises(OptionError, match="takes no parameter 'processes'") as caught:
        sources.plan(Request(targets=[str(file)], processes=[1, 2]))
    assert 'launcher = "torchrun"' in caught.value.remedy


def test_a_declared_parameter_is_kept_and_must_be_whole(tmp_path: Path) -> None:
    file = _file(tmp_path, '"mpirun"', TASK + "processes = [1, 3]\n")
    assert [case.params["processes"] for case in sources.plan(Request(targets=[str(file)]))] == [1, 3]
    with pytest.raises(DecodeError, match="processes: is not a whole number"):
        reader.read(_file(tmp_path, '"mpirun"', TASK + 'processes = "two"\n'))


def test_a_command_is_started_by_a_launcher_or_takes_the_number_itself() -> None:
    assert launch(["a", "b"], "mpirun", 2) == ["mpirun", "-n", "2", "a", "b"]
    assert launch(["a", "-j{processes}"], "", 3) == ["a", "-j3"]
    assert launch(["a", "{processes}"], "", None) == ["a", "{processes}"]
    found = sources.plan(Request(targets=[], command=["true", "{processes}"], processes=[1, 2]))
    assert [(case.name, case.params["processes"]) for case in found] == [("true '{processes}'", n) for n in (1, 2)]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Request(targets=[], command=["true"], processes=[2]), "nothing says how several processes"),
        (
            Request(targets=[], command=["true"], launcher="no-such-launcher {processes}"),
            "no program 'no-such-launcher'",
        ),
        (Request(targets=["fake:constant"], processes=[2]), "--processes does not apply"),
        (Request(targets=["fake:constant"], launcher="mpirun"), "--launcher does not apply"),
    ],
)
def test_what_no_launcher_can_start_is_refused(asked: Request, words: str) -> None:
    with pytest.raises((TargetError, OptionError)) as caught:
        sources.plan(asked)
    assert words in str(caught.value)


def test_an_older_task_has_no_launcher(tmp_path: Path) -> None:
    file = tmp_path / "t.cfg"
    file.write_text("[a]\npatterns = ['x']\nmetrics = ['m']\ncompute_method = ['last']\ncommand_to_execute = true\n")
    with pytest.raises(UserError, match="has no launcher"):
        sources.plan(Request(targets=[str(file)], launcher="mpirun", processes=[2]))


def test_threads_that_torchrun_gives_unequally_are_a_warning() -> None:
    argv = read_launcher("torchrun", "launcher")
    assert [one.code for one in warn_of_threads(argv, {})] == ["unequal-threads"]
    assert [one.code for one in warn_of_threads(("python", "-m", "torch.distributed.run", "-h"), {})] != []
    assert warn_of_threads(argv, {"OMP_NUM_THREADS": "1"}) == [] == warn_of_threads(("mpirun",), {})

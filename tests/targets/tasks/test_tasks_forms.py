"""Both forms of task files: what they mean, and how a mistake in them is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchwright.errors import DecodeError, OptionError, TargetError, UserError
from benchwright.records import Better
from benchwright.targets.tasks import definition, old_form, reader
from benchwright.targets.tasks.binding import bind
from benchwright.targets.tasks.definition import Task
from benchwright.worker.tasks.extraction import Extractor

TOML = r"""
[tasks.train]
command = ["python", "train.py", "--epochs", "{epochs}", "--json", '{{"a": 1}}']
directory = "work"
environment = { SIZE = "{size}" }
timeout = "2h"
interval = "500ms"
patterns = ['Speed: (?P<speed>\S+).*acc=(?P<acc>\S+)']

[tasks.train.parameters]
epochs = { default = 2, least = 1, most = 10 }
size = ["small", "large"]
num_gpus = 1

[tasks.train.metrics]
speed = { compute = "mean", unit = "samples/s", better = "higher", least = 100 }
speed_p90 = { series = "speed", compute = "p90" }
step = { pattern = 'step took (\S+) ms', compute = "median", unit = "ms", better = "lower", most = "0.5s" }
errors = { pattern = 'ERROR', compute = "count", most = 0, optional = true }

[tasks.other]
command = "python -c 'print(1)'"
"""


def _toml(folder: Path, text: str) -> Path:
    file = folder / "tasks.toml"
    file.write_text(text, encoding="utf-8")
    return file


def _cfg(folder: Path, text: str) -> Path:
    file = folder / "tasks.cfg"
    file.write_text(text, encoding="utf-8")
    return file


# ---- our own form ----


def test_everything_a_task_says_is_read(tmp_path: Path) -> None:
    train, other = reader.read(_toml(tmp_path, TOML))
    assert (train.name, train.timeout, train.interval) == ("train", 7200, 0.5)
    assert [p.name for p in train.parameters] == ["epochs", "size", "num_gpus"]
    speed, p90, step, errors = train.metrics
    assert (speed.unit, speed.better, speed.least, speed.compute) == ("samples/s", Better.HIGHER, 100, "mean")
    assert p90.series == "speed"
    assert (step.unit, step.factor, step.most) == ("s", 0.001, 0.5)
    assert errors.optional and errors.most == 0
    assert other.command == ("python", "-c", "print(1)")


def test_parameters_fill_the_command_and_are_never_split(tmp_path: Path) -> None:
    train = reader.read(_toml(tmp_path, TOML), "train")[0]
    ready = bind(train, {"epochs": 3, "size": "a b; rm", "num_gpus": 2}, {"PATH": "/bin"})
    assert ready.argv == ("python", "train.py", "--epochs", "3", "--json", '{"a": 1}')
    assert ready.environment["SIZE"] == "a b; rm" and ready.environment["PATH"] == "/bin"
    assert (ready.directory, ready.num_gpus) == (tmp_path / "work", 2)


def test_parameters_have_types_bounds_and_defaults(tmp_path: Path) -> None:
    train = reader.read(_toml(tmp_path, TOML), "train")[0]
    assert definition.choose_values(train, {}) == {"epochs": (2,), "size": ("small", "large"), "num_gpus": (1,)}
    assert definition.choose_values(train, {"epochs": [1, 2], "size": [5]})["size"] == ("5",)
    for given, told in (
        ({"epochs": ["x"]}, "'x' is not a whole number"),
        ({"epochs": [1.5]}, "1.5 is not a whole number"),
        ({"epochs": [11]}, "at most 10"),
        ({"epoch": [1]}, "did you mean 'epochs'?"),
    ):
        with pytest.raises(OptionError) as caught:
            definition.choose_values(train, given)
        assert told in str(caught.value)


def test_a_parameter_without_a_default_must_be_given(tmp_path: Path) -> None:
    text = '[tasks.a]\ncommand = "x {n}"\n[tasks.a.parameters]\nn = { type = "int", choices = [1, 2] }\n'
    (task,) = reader.read(_toml(tmp_path, text))
    with pytest.raises(OptionError, match="needs a value for 'n'"):
        definition.choose_values(task, {})
    with pytest.raises(OptionError, match="choose from: 1, 2"):
        definition.choose_values(task, {"n": [3]})
    assert definition.choose_values(task, {"n": [2]}) == {"n": (2,)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "tasks.toml: unknown key 'x'"),
        ("tasks = {}", "holds no task"),
        ("[tasks.a]\n", "tasks.a: 'command' is missing"),
        ('[tasks.a]\ncommand = "x"\ntimout = 3', "tasks.a: unknown key 'timout'\n  did you mean 'timeout'?"),
        ('[tasks.a]\ncommand = "x"\ntimeout = "3 parsecs"', "tasks.a.timeout: "),
        ('[tasks.a]\ncommand = "x"\ntimeout = 0', "tasks.a.timeout: 0 is not above zero"),
        ('[tasks.a]\ncommand = ["x", 1]', "tasks.a.command[1]: 1 is not a string"),
        ("[tasks.a]\ncommand = []", "tasks.a.command: is empty"),
        ('[tasks.a]\ncommand = "a \'b"', "tasks.a.command: No closing quotation"),
        ('[tasks.a]\ncommand = "x {nam}"\nparameters = { name = 1 }', "no parameter 'nam'\n  did you mean 'name'?"),
        ('[tasks.a]\ncommand = "x"\npatterns = ["("]', "tasks.a.patterns[0]: '(' is not a regular expression"),
        ('[tasks.a]\ncommand = "x"\npatterns = ["(a)"]', "tasks.a.patterns[0]: has no named group"),
        ('[tasks.a]\ncommand = "x"\nmetrics.m = {}', "tasks.a.metrics.m: no pattern has a group 'm'"),
        ('[tasks.a]\ncommand = "x"\nmetrics.m = { patern = "a" }', "metrics.m: unknown key 'patern'"),
        ('[tasks.a]\ncommand = "x"\nmetrics.m = { pattern = "(a)(b)" }', "captures 2 groups"),
        ('[tasks.a]\ncommand = "x"\nmetrics.m = { pattern = "a", compute = "maen" }', "did you mean 'mean'?"),
        ('[tasks.a]\ncommand = "x"\nmetrics.m = { pattern = "a", better = "more" }', "metrics.m.better"),
        ('[tasks.a]\ncommand = "x"\nmetrics.wall_time = { pattern = "a" }', "every run has a metric of this name"),
        ('[tasks.a]\ncommand = "x"\nparameters.p = { type = "integer" }', "unknown type 'integer'"),
        ('[tasks.a]\ncommand = "x"\nparameters.p = [1, "b"]', "its type is not clear"),
        ('[tasks.a]\ncommand = "x"\nparameters.p = { default = 5, most = 3 }', "parameters.p"),
        ('[tasks.a]\ncommand = "x"\npatterns = ["(?P<a>x)", "(?P<a>y)"]', "group 'a' is in two patterns"),
        ('[tasks.a\ncommand = "x"', "tasks.toml: "),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(DecodeError) as caught:
        reader.read(_toml(tmp_path, text))
    assert told in str(caught.value)
    assert str(caught.value).startswith("tasks.toml")


def test_a_task_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="did you mean 'train'"):
        reader.read(_toml(tmp_path, TOML), "trian")


def test_a_computation_over_workers_is_refused_before_anything_runs(tmp_path: Path) -> None:
    text = '[tasks.a]\ncommand = "x"\nmetrics.m = { pattern = "a", compute = "mean_of_all_workers" }\n'
    (task,) = reader.read(_toml(tmp_path, text))
    with pytest.raises(OptionError, match="needs the number of workers"):
        bind(task, {}, {})
    assert bind(task, {}, {"DEEPLEARNING_WORKERS_COUNT": "3"}).workers == 3
    (task,) = reader.read(_toml(tmp_path, text.replace('"x"', '"x"\nworkers = 4')))
    assert bind(task, {}, {"DEEPLEARNING_WORKERS_COUNT": "3"}).workers == 4


# ---- the older form ----

OLDER = r"""
[demo]
patterns = ['\bv=(\d+)', "it's (\d+)\%", 'back\\slash (\d)', r'\\(\d)',]
metrics = ['v', 'Images per sec', "a", 'b']
compute_method = ['last', 'average', 'total', 'p90']
command_to_execute = cd X && bash Y --gpus 16 --epochs 10 --kvstore device %(nothing)s
num_gpus = 16

[metrics_only]
PATTERNS = ['a' 'b']
METRICS = ['a']
COMPUTE_METHOD = ['last']
"""


def _found(task: Task, data: bytes) -> dict[str, float]:
    extractor = Extractor(task)
    extractor.feed(data)
    extractor.finish()
    return {metric.name: metric.estimate.point for metric in extractor.result().metrics}


def test_the_older_form_is_read_raw(tmp_path: Path) -> None:
    (demo,) = reader.read(_cfg(tmp_path, OLDER))
    assert demo.older and demo.command[0].endswith("%(nothing)s") and demo.num_gpus == 16
    assert [pattern.text for pattern in demo.patterns] == [r"\bv=(\d+)", r"it's (\d+)\%", r"back\slash (\d)", r"\\(\d)"]
    assert _found(demo, b"v=3\nav=4\nit's 5%\n\\7\n") == {"v": 3, "Images per sec": 5, "b": 7}
    assert old_form.names(tmp_path / "tasks.cfg") == ["demo", "metrics_only"]
    assert reader.read(tmp_path / "tasks.cfg", "metrics_only")[0].patterns[0].text == "ab"


def test_flags_rewrite_whole_values_of_an_older_command(tmp_path: Path) -> None:
    (demo,) = reader.read(_cfg(tmp_path, OLDER))
    ready = bind(demo, {"num_gpus": 4, "epochs": 3, "kvstore": "a b"}, {})
    assert ready.argv[:2] == ("/bin/sh", "-c")
    assert "--gpus 4 --epochs 3 --kvstore 'a b'" in ready.argv[2]
    assert ready.num_gpus == 4 and not ready.warnings
    without = bind(demo, {"num_gpus": 0, "dtype": "float16"}, {})
    assert "--gpus" not in without.argv[2] and without.num_gpus == 0
    assert [warning.code for warning in without.warnings] == ["override-unused"]


def test_a_section_that_was_pasted_with_a_blank_in_front_is_a_section(tmp_path: Path) -> None:
    pasted = "".join(f" {line}\n" for line in OLDER.replace("demo", "pasted").strip().splitlines()[:6])
    file = _cfg(tmp_path, OLDER + "command_to_execute = true\n" + pasted)
    assert [task.name for task in reader.read(file)] == ["demo", "metrics_only", "pasted"]
    assert reader.read(file, "metrics_only")[0].command == ("true",)


def test_one_wrong_section_does_not_stop_the_others(tmp_path: Path) -> None:
    file = _cfg(tmp_path, OLDER + "[wrong]\npatterns = nonsense\n")
    assert reader.read(file, "demo")[0].name == "demo"
    with pytest.raises(DecodeError, match="is not a list"):
        reader.read(file, "wrong")


@pytest.mark.parametrize(
    ("section", "told"),
    [
        (
            "patterns = ['a', 'b']\nmetrics = ['a']\ncompute_method = ['last']",
            "2 patterns, 1 metrics, 1 compute_method",
        ),
        ("patterns = ['a']\nmetrics = ['a']\ncompute_method = ['mode9']", "unknown computation 'mode9'"),
        ("patterns = ['(a)(b)']\nmetrics = ['a']\ncompute_method = ['last']", "captures 2 groups"),
        ("patterns = ['(']\nmetrics = ['a']\ncompute_method = ['last']", "is not a regular expression"),
        ("patterns = [__import__('os')]\nmetrics = ['a']\ncompute_method = ['last']", "is not a string in quotes"),
        ("num_gpu = 1", "did you mean 'num_gpus'?"),
        ("num_gpus = two", "'two' is not a whole number"),
        ("num_gpus = 1\nnum_gpus = 2", "num_gpus"),
    ],
)
def test_a_mistake_in_the_older_form_is_told(tmp_path: Path, section: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        reader.read(_cfg(tmp_path, f"[demo]\n{section}\ncommand_to_execute = true\n"))
    assert told in str(caught.value) and "tasks.cfg" in str(caught.value)


def test_a_metric_with_a_name_of_ours_is_recorded_beside_ours(tmp_path: Path) -> None:
    text = "[demo]\npatterns = ['(\\d)']\nmetrics = ['cpu']\ncompute_method = ['last']\ncommand_to_execute = true\n"
    (task,) = reader.read(_cfg(tmp_path, text))
    assert task.metrics[0].name == "log.cpu"


# ---- goals, and what is left out ----


_PRINTED = 'patterns = ["epoch (?P<epoch>.+) accuracy (?P<accuracy>.+)", "loss (?P<loss>.+)"]'


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("goals.best = { when = 'accuracy is 3' }", "goals.best.when: 'accuracy is 3' is not a goal"),
        ("goals.best = { when = 'accuracy >= high' }", "goals.best.when: 'high' is not a number"),
        ("goals.best = { when = 'acuracy >= 1' }", "nothing captures 'acuracy'"),
        ("goals.best = { when = 'accuracy >= 1', hold = 0 }", "goals.best.hold: 0"),
        ("goals.best = { when = 'loss < 1', epochs = 'epoch' }", "goals.best.epochs: the pattern of 'loss' has no"),
        ("goals.best = { wen = 'loss < 1' }", "wen"),
        ("goals.'a b' = { when = 'loss < 1' }", "a goal is named with letters"),
        ("goals.x = { when = 'loss < 1' }\nmetrics.time_to_x = { series = 'loss' }", "metrics.time_to_x: the goal 'x'"),
        ("metrics.loss = { skip = -1 }", "metrics.loss.skip: -1"),
        ("metrics.loss = { skip = '5 apples' }", "metrics.loss.skip: '5 apples' is no part"),
        ("metrics.loss = { skip = '100%' }", "leaves out nothing or everything"),
        ("metrics.loss = { skip = 3, steady = true }", "metrics.loss: has skip and steady"),
        ("metrics.loss = { compute = 'rate', steady = true }", "'rate' counts hits"),
        ("metrics.loss = { steady = true }\nmetrics.loss_warmup = { series = 'loss' }", "the warm-up of 'loss'"),
    ],
)
def test_a_mistake_in_a_goal_or_a_skip_is_named_with_its_place(tmp_path: Path, lines: str, said: str) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text(f"[tasks.demo]\ncommand = 'true'\n{_PRINTED}\n{lines}\n", encoding="utf-8")
    with pytest.raises(DecodeError) as error:
        reader.read(file)
    assert said in str(error.value) and "tasks.demo" in str(error.value)


def test_a_goal_is_about_a_group_or_about_a_metric(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    own = "metrics.score = { pattern = 'score (.+)' }\ngoals.good = { when = 'score > 5', epochs = 'values' }"
    file.write_text(f"[tasks.demo]\ncommand = 'true'\n{_PRINTED}\n{own}\n", encoding="utf-8")
    (task,) = reader.read(file)
    (goal,) = task.goals
    assert (goal.series, goal.relation, goal.bound, goal.epochs) == ("metrics.score", ">", 5.0, "values")


def test_each_round_has_a_seed_of_its_own_unless_a_parameter_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text("[tasks.demo]\ncommand = ['echo', '{seed}']\n", encoding="utf-8")
    (task,) = reader.read(file)
    assert bind(task, {}, {}, seed=2**40 + 7).argv == ("echo", "7")
    assert bind(task, {"seed": 3}, {}, seed=7).argv == ("echo", "3")

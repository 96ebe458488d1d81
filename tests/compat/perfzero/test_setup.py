"""setup.py's flags: the drive, the copies, the key and the image, each step timed."""

from __future__ import annotations

import gzip
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import containers
from benchwright.compat.perfzero import images, setup
from benchwright.compat.perfzero.preparation import KEY_VARIABLE
from benchwright.execution.hosts.engines import Image
from benchwright.execution.images import builder as building
from benchwright.execution.images.builder import ImageOrder

engine, python_image = containers.engine, containers.python_image
TITLE = "Setup time in seconds by operation:\n"
NO_IMAGE = "--dockerfile_path="


@pytest.fixture
def tag(engine: str) -> Iterator[str]:
    name = f"localhost/benchwright-tests/{uuid.uuid4()}:one"
    yield name
    containers.remove(engine, name)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is not the present folder."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "project"


def _times(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    shown = capsys.readouterr().out
    found: dict[str, float] = json.JSONDecoder().raw_decode(shown.partition(TITLE)[2])[0]
    return found


def _inside(engine: str, tag: str, code: str) -> str:
    return str(containers.ask(engine, "run", "--rm", tag, "python3", "-c", code).stdout)


# ---- flags ----


def test_nothing_asked_for_is_nothing_done_and_each_step_is_timed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert setup.main([NO_IMAGE], project) == 0
    assert _times(capsys).keys() == {"download_token", "create_drive"}
    assert list(project.iterdir()) == []


def test_the_defaults_are_perfzeros() -> None:
    flags = vars(setup._parser().parse_args([]))
    assert flags == {
        "dockerfile_path": "docker/Dockerfile_ubuntu_1804_tf_v1",
        "docker_tag": "perfzero/tensorflow",
        "tensorflow_pip_spec": "",
        "extra_pip_specs": "",
        "extra_docker_build_args": [],
        "site_package_downloads": "",
        "workspace": "workspace",
        "gcloud_key_file_url": "",
        "root_data_dir": "/data",
        "gce_nvme_raid": None,
        "cache": False,
    }


def test_an_unknown_flag_ends_with_1(project: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        setup.main(["--nope"], project)
    assert ended.value.code == 1


def test_the_key_is_fetched_and_told_to_libraries_only_when_google_is_needed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key.json"
    key.write_text("{}", encoding="utf-8")
    assert setup.main([NO_IMAGE, f"--gcloud_key_file_url={key.as_uri()}"], project) == 0
    fetched = project / "workspace" / "key.json"
    assert fetched.read_text(encoding="utf-8") == "{}" and fetched.stat().st_mode & 0o777 == 0o600
    assert KEY_VARIABLE not in os.environ
    monkeypatch.setenv(KEY_VARIABLE, "")  # so that it is put back
    monkeypatch.setattr(images, "build", lambda request: None)
    arguments = [f"--gcloud_key_file_url={key.as_uri()}", "--tensorflow_pip_spec=gs://b/w.whl"]
    assert setup.main(arguments, project) == 0
    assert os.environ[KEY_VARIABLE] == str(fetched)


def test_perfzeros_default_key_counts_as_unset(project: Path) -> None:
    url = "gs://tf-performance/auth_tokens/benchmark_upload_gce.json"
    assert setup.main([NO_IMAGE, f"--gcloud_key_file_url={url}"], project) == 0
    assert list(project.iterdir()) == []


# ---- copies ----


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "my models"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.py").write_text("1", encoding="utf-8")
    (folder / "link").symlink_to("inner")
    return folder


def test_folders_are_copied_and_copied_again_when_they_change(project: Path, source: Path) -> None:
    arguments = [NO_IMAGE, f"--site_package_downloads={source}:models, {source}:again"]
    packages = project / "workspace" / "site-packages"
    for content in ("1", "2"):
        (source / "inner" / "a.py").write_text(content, encoding="utf-8")
        assert setup.main(arguments, project) == 0
        assert (packages / "models" / "inner" / "a.py").read_text(encoding="utf-8") == content
        assert (packages / "models" / "link").readlink() == Path("inner")
    assert sorted(p.name for p in packages.iterdir() if not p.name.startswith(".")) == ["again", "models"]
    assert not list(packages.glob(".models.[0-9]*"))


def test_what_was_edited_by_hand_is_kept(project: Path, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [NO_IMAGE, f"--site_package_downloads={source}:models"]
    packages = project / "workspace" / "site-packages"
    setup.main(arguments, project)
    (packages / "models" / "mine.py").write_text("my edits", encoding="utf-8")
    (source / "new.py").touch()
    assert setup.main(arguments, project) == 0
    assert (packages / "models" / "new.py").exists() and not (packages / "models" / "mine.py").exists()
    assert (packages / "models.kept-1" / "mine.py").read_text(encoding="utf-8") == "my edits"
    assert "models.kept-1" in capsys.readouterr().out


def test_a_folder_that_is_no_copy_of_ours_is_kept(project: Path, source: Path) -> None:
    target = project / "workspace" / "site-packages" / "models"
    target.mkdir(parents=True)
    (target / "only.py").touch()
    assert setup.main([NO_IMAGE, f"--site_package_downloads={source}:models"], project) == 0
    assert (target.with_name("models.kept-1") / "only.py").exists()


@pytest.mark.parametrize("entry", ["{source}", "relative:name", "{source}:../up", "{source}:", "/no/such:name"])
def test_a_wrong_entry_is_refused_before_anything_is_copied(
    entry: str, project: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flag = f"--site_package_downloads={source}:models,{entry.format(source=source)}"
    assert setup.main([NO_IMAGE, flag], project) == 1
    assert not (project / "workspace").exists()
    assert "--site_package_downloads" in capsys.readouterr().err


# ---- images ----

NAMES = ("tensorflow_pip_spec", "local_tensorflow_pip_spec", "extra_pip_specs", "other", "taken")


def _dockerfile(base: str) -> str:
    """Writes the build arguments down, and takes the wheel."""
    arguments = "".join(f"ARG {name}\n" for name in NAMES)
    values = " ".join(f'"${name}"' for name in NAMES)
    return f"FROM {base}\n{arguments}COPY $local_tensorflow_pip_spec /wheels/\nRUN printf '%s|' {values} > /told\n"


@pytest.mark.soak
def test_a_dockerfile_of_the_project_gets_perfzeros_arguments(
    project: Path,
    python_image: str,
    engine: str,
    tag: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (project / "docker").mkdir()
    (project / "docker" / "mine").write_text(_dockerfile(python_image), encoding="utf-8")
    monkeypatch.setenv("taken", "from the environment")
    wheel = tmp_path / "tensorflow-9-py3-none-any.whl"
    tell = "import os; print(open('/told').read(), os.listdir('/wheels'))"
    arguments = ["--cache", "--dockerfile_path=docker/mine", f"--docker_tag={tag}", "--extra_pip_specs=a==1; b==2;"]
    for content in ("first", "built anew"):
        wheel.write_text(content, encoding="utf-8")
        containers.remove(engine, tag)
        further = [f"--tensorflow_pip_spec={wheel.as_uri()}", "--extra_docker_build_args", "other=x y;z", "taken", ""]
        assert setup.main([*arguments, *further], project) == 0
        resources = project / "workspace" / "resources"
        assert (resources / wheel.name).read_text(encoding="utf-8") == content
    expected = f"{wheel.name}|{wheel.name}|a==1 b==2|x y;z|from the environment| ['{wheel.name}']\n"
    assert _inside(engine, tag, tell) == expected
    assert _times(capsys).keys() == {"download_token", "create_drive", "build_docker"}
    containers.remove(engine, tag)
    assert setup.main([*arguments, "--tensorflow_pip_spec=tensorflow==2.20"], project) == 0
    assert _inside(engine, tag, tell) == "tensorflow==2.20|EMPTY|a==1 b==2||| ['EMPTY']\n"


def test_a_dockerfile_here_comes_before_that_of_the_project(
    project: Path, python_image: str, engine: str, tag: str
) -> None:
    for folder, word in ((Path(), "here"), (project, "project")):
        (folder / "Dockerfile").write_text(f"FROM {python_image}\nRUN echo {word} > /told\n", encoding="utf-8")
    assert setup.main(["--cache", "--dockerfile_path=Dockerfile", f"--docker_tag={tag}"], project) == 0
    assert _inside(engine, tag, "print(open('/told').read())").strip() == "here"


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[ImageOrder]:
    """What would be built: the real base is not on this machine."""
    found: list[ImageOrder] = []

    def build(order: ImageOrder, **_: object) -> Image:
        found.append(order)
        return Image(name=order.tag, id="sha256:0")

    monkeypatch.setattr(building, "build", build)
    monkeypatch.setattr(images, "NVIDIA_SMI", "no-such-program")
    return found


def test_every_step_is_built_anew_unless_asked(project: Path, orders: list[ImageOrder]) -> None:
    for arguments in ([], ["--no_cache"], ["--cache"]):
        assert setup.main(arguments, project) == 0
    assert [(order.cache, order.pull) for order in orders] == [(False, True), (False, True), (True, False)]


def _engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, building: str, inspected: str = '[{"Id": "sha256:0"}]'
) -> Path:
    """A program in docker's place that writes down how it is called; the path of what it wrote."""
    program, calls = folder / "docker", folder / "calls"
    image = f"image) echo '{inspected}' ;;"
    cases = f"--version) echo Docker version 28.0.0 ;; {image} buildx) {building} ;;"
    program.write_text(f'#!/bin/sh\necho "$@" >> {calls}\ncase "$1" in {cases} esac\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("BENCHWRIGHT_CONTAINER_ENGINE", str(program))
    Path("Dockerfile").write_text("FROM scratch\n", encoding="utf-8")
    return calls


@pytest.mark.parametrize("answer", ["", "[]", "[1]", '{"Id": "sha256:0"}', '[{"Id": null}]', "[" * 3000])
def test_an_engine_that_answers_otherwise_is_told_in_a_sentence(
    answer: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _engine(tmp_path, monkeypatch, building="true", inspected=answer)
    assert setup.main(["--dockerfile_path=Dockerfile"], project) == 1
    assert "image inspect perfzero/tensorflow does not answer with an image" in "".join(capsys.readouterr())


def test_the_engine_is_called_as_perfzero_calls_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _engine(tmp_path, monkeypatch, building="true")
    assert setup.main(["--dockerfile_path=Dockerfile"], project) == 0
    build = next(line for line in calls.read_text().splitlines() if line.startswith("buildx build "))
    assert "--no-cache" in build and "--pull" in build and "perfzero/tensorflow" in build


def test_a_base_that_no_registry_has_needs_the_cache(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _engine(tmp_path, monkeypatch, building="echo pinging container registry: connection refused >&2; exit 1")
    assert setup.main(["--dockerfile_path=Dockerfile"], project) == 1
    assert "needs --cache" in capsys.readouterr().err


def test_without_perfzeros_default_the_built_in_dockerfile_is_used(project: Path, orders: list[ImageOrder]) -> None:
    assert setup.main([], project) == 0
    (order,) = orders
    assert order.tag == "perfzero/tensorflow"
    text = order.dockerfile.read_text(encoding="utf-8")
    assert "tf-nightly-gpu" not in text and 'ARG tensorflow_pip_spec="tensorflow"' in text
    assert sorted(path.name for path in order.context.iterdir())[:2] == ["Dockerfile", "EMPTY"]
    assert list(order.context.glob("benchwright-*.whl"))


@pytest.mark.parametrize(
    ("flag", "has_driver", "is_nvidias"),
    [
        ("", False, False),
        ("", True, True),
        ("--dockerfile_path=docker/Dockerfile_ubuntu_1804_tf_v2", True, True),  # the README's
        ("--dockerfile_path=docker/Dockerfile_ubuntu_2204_tf_cuda_12", False, False),
        ("--dockerfile_path=docker/Dockerfile_nvidia", False, True),
        ("--dockerfile_path=docker/Dockerfile_cpu", True, False),
    ],
)
def test_a_machine_with_nvidias_driver_gets_the_image_with_cuda(
    project: Path,
    orders: list[ImageOrder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    flag: str,
    has_driver: bool,
    is_nvidias: bool,
) -> None:
    if has_driver:
        program = tmp_path / "nvidia-smi"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setattr(images, "NVIDIA_SMI", str(program))
    assert setup.main([flag] if flag else [], project) == 0
    text = orders[0].dockerfile.read_text(encoding="utf-8")
    assert ('ARG tensorflow_pip_spec="tensorflow[and-cuda]"' in text) is is_nvidias
    assert ("NVIDIA_VISIBLE_DEVICES=all" in text) is is_nvidias


def test_a_dockerfile_that_is_nowhere_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert setup.main(["--dockerfile_path=no/such"], project) == 1
    assert "no/such" in capsys.readouterr().err and not (project / "workspace").exists()


def test_a_build_that_fails_ends_with_1_and_says_why(
    project: Path, python_image: str, tag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("Dockerfile").write_text(f"FROM {python_image}\nRUN no-such-program\n", encoding="utf-8")
    assert setup.main(["--cache", "--dockerfile_path=Dockerfile", f"--docker_tag={tag}"], project) == 1
    shown = capsys.readouterr()
    assert "no-such-program" in shown.err and TITLE not in shown.out


@pytest.mark.parametrize("by_url", [True, False])
def test_a_saved_image_is_fetched_and_loaded(
    by_url: bool, project: Path, engine: str, tag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n", encoding="utf-8")
    assert containers.ask(engine, "build", "--tag", tag, ".").returncode == 0
    saved = tmp_path / "image.tar"
    assert containers.ask(engine, "save", "--output", str(saved), tag).returncode == 0
    packed = tmp_path / "image.tar.gz"
    packed.write_bytes(gzip.compress(saved.read_bytes()))
    containers.remove(engine, tag)
    assert setup.main([f"--dockerfile_path={packed.as_uri() if by_url else packed}"], project) == 0
    assert containers.ask(engine, "image", "inspect", tag).returncode == 0
    assert _times(capsys).keys() == {"download_token", "create_drive", "fetch_docker", "load_docker"}
    assert packed.exists()

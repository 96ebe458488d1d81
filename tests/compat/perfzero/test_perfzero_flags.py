"""PerfZero's flags: spellings, defaults, abbreviations, and what may be written down of them."""

from __future__ import annotations

import pytest

from benchwright.compat.perfzero import flags
from benchwright.errors import OptionError

# flag -> what an empty command line records
DEFAULTS = {
    "benchmark_methods": [],
    "benchmark_num_trials": 1,
    "perfzero_constructor_args": "",
    "use_cached_site_packages": False,
    "root_data_dir": "/data",
    "workspace": "workspace",
    "gcloud_key_file_url": "gs://tf-performance/auth_tokens/benchmark_upload_gce.json",
    "debug": False,
}
UNSET = [
    "benchmark_class_type",
    "git_repos",
    "python_path",
    "data_downloads",
    "gcs_downloads",
    "output_gcs_url",
    "scratch_gcs_url",
    "bigquery_project_name",
    "bigquery_dataset_table_name",
    "result_upload_methods",
    "execution_id",
    "execution_label",
    "ml_framework_build_label",
    "platform_name",
    "system_name",
    "profiler_enabled_time",
    "tpu_parameters",
]


def test_there_are_the_25_flags_with_their_defaults() -> None:
    assert len(DEFAULTS) + len(UNSET) == 25
    assert flags.parse([]).recorded == DEFAULTS
    for name in UNSET:
        if not name.startswith("bigquery"):
            text = '{"name":"n","project":"p","zone":"z"}' if name == "tpu_parameters" else "v"
            assert flags.parse([f"--{name}={text}"]).recorded[name] == text


def test_methods_are_split_and_kept_in_order_with_duplicates() -> None:
    given = flags.parse(["--benchmark_methods=a.B.c,a.B.d", "--benchmark_methods", "a.B.c"])
    assert given.methods == ("a.B.c", "a.B.d", "a.B.c")
    assert given.recorded["benchmark_methods"] == ["a.B.c,a.B.d", "a.B.c"]


def test_the_last_of_a_plain_flag_wins() -> None:
    assert flags.parse(["--python_path=a", "--python_path=b"]).split("python_path") == ["b"]


def test_repositories_may_be_given_one_by_one() -> None:
    """As the README says."""
    given = flags.parse(["--git_repos=a;main", "--git_repos=", "--git_repos", "b,c;;0123"])
    assert given.split("git_repos") == ["a;main", "b", "c;;0123"]
    assert flags.parse(["--git_repos=a", "--git_repos=b"]).recorded["git_repos"] == "a,b"
    assert flags.parse(["--git_repos=a,b"]).recorded["git_repos"] == "a,b"
    assert "git_repos" not in flags.parse([]).recorded


def test_an_empty_value_counts_as_not_set() -> None:
    given = flags.parse([f"--{name}=" for name in UNSET] + ["--benchmark_num_trials=", "--perfzero_constructor_args="])
    assert not any(given.texts[name] for name in UNSET)
    assert (given.trials, given.key_url) == (1, "")


@pytest.mark.parametrize(
    ("typed", "name"),
    [("--profiler=1:2", "profiler_enabled_time"), ("--t={}", "tpu_parameters"), ("--sy=1", "system_name")],
)
def test_abbreviations_mean_what_they_meant_to_perfzero(typed: str, name: str) -> None:
    assert flags.parse([typed]).texts[name] == typed.partition("=")[2]


def test_the_default_key_counts_as_unset_and_another_does_not() -> None:
    assert flags.parse([]).key_url == ""
    assert flags.parse(["--gcloud_key_file_url=gs://mine/key.json"]).key_url == "gs://mine/key.json"


def test_an_unknown_flag_is_named() -> None:
    with pytest.raises(flags.UnknownFlagError, match=r"Arguments \['--nope=1', 'word'\] are not recognized"):
        flags.parse(["--nope=1", "word"])


@pytest.mark.parametrize(
    "typed",
    [
        ["--bigquery_project_name=p"],
        ["--bigquery_dataset_table_name=d.t"],
        ["--perfzero_constructor_args={"],
        ["--perfzero_constructor_args=[1]"],
    ],
)
def test_what_makes_no_sense_is_refused(typed: list[str]) -> None:
    with pytest.raises(OptionError):
        flags.parse(typed)


def test_our_own_flags_are_read_in_full_only() -> None:
    given = flags.parse(["--fail_on_bounds", "--timeout=2.5", "--store", "x.db", "--list"])
    assert (given.fail_on_bounds, given.timeout, given.store, given.dry) == (True, 2.5, "x.db", True)
    with pytest.raises(flags.UnknownFlagError):
        flags.parse(["--fail"])
    assert "fail_on_bounds" not in given.recorded


@pytest.mark.parametrize("value", ["-1", "0", "inf", "nan", "soon"])
def test_a_timeout_is_a_number_of_seconds(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        flags.parse([f"--timeout={value}"])
    assert "--timeout" in capsys.readouterr().err


def test_every_flag_is_in_the_help() -> None:
    text = flags.help_text()
    for name in (*DEFAULTS, *UNSET, "fail_on_bounds", "timeout", "store", "list"):
        assert f"--{name}" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:secret@host/repo.git;main", "https://***@host/repo.git;main"),
        ("https://TOKEN@host/a.git,https://u:p@host/b.git;x", "https://***@host/a.git,https://***@host/b.git;x"),
        ("https://host/data.tar?X-Amz-Signature=abc,gs://b/c", "https://host/data.tar?X-Amz-Signature=***,gs://b/c"),
        ("gs://bucket/dir", "gs://bucket/dir"),
        ("git@host:org/repo.git", "git@host:org/repo.git"),
    ],
)
def test_urls_are_written_down_without_their_secrets(text: str, shown: str) -> None:
    assert flags.mask_command([f"--git_repos={text}", "--git_repos", text]) == (
        f"--git_repos={shown}",
        "--git_repos",
        shown,
    )
    assert flags.parse([f"--git_repos={text}"]).recorded["git_repos"] == shown


def test_of_a_key_only_its_being_there_is_written_down() -> None:
    assert flags.parse(["--gcloud_key_file_url=gs://b/key.json"]).recorded["gcloud_key_file_url"] == "***"
    place = "file:///home/me/key.json"
    typed = [f"--gcloud_key_file_url={place}", "--gcloud", place, "--debug", "--gcloud_key_file_url=", "--store=x"]
    told = flags.mask_command(typed)
    assert told == ("--gcloud_key_file_url=***", "--gcloud", "***", "--debug", "--gcloud_key_file_url=", "--store=x")
    assert flags.parse(told[:4]).key_url == "***"


@pytest.mark.parametrize(
    ("value", "says"), [("x", "'x' is not a whole number"), ("1.5", "'1.5' is not"), ("-1", "-1 is below zero")]
)
def test_a_number_of_trials_is_a_whole_number(value: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        flags.parse([f"--benchmark_num_trials={value}"])
    told = capsys.readouterr().err
    assert says in told and "_count" not in told

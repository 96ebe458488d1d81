"""The fake runtime takes exactly as long as it says."""

from __future__ import annotations

import itertools
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchwright.errors import DeviceError, LoadError
from benchwright.records import Case, Inputs, Scalar
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.fake import DISTRIBUTIONS, Fake, cycle, options_of, truth
from benchwright.worker.runtimes.faults import FAULTS, FLOOD_BYTES

MakeCase = Callable[..., Case]

EVERY: dict[str, dict[str, Scalar]] = {
    "constant": {"ms": 5},
    "uniform": {"latency": "2ms", "sigma": 0.25},
    "lognormal": {"latency": "1ms", "sigma": 0.5, "period": 400},
    "bimodal": {"latency": "1ms", "slow": "20ms", "slow_share": 0.05},
    "script": {"script": "1ms,2ms,50ms"},
}


def _calls(loaded: Loaded, count: int) -> list[int]:
    """Latencies of calls in virtual time."""
    latencies = []
    for arguments in itertools.islice(itertools.cycle(loaded.arguments), count):
        begin = loaded.clock.now()
        loaded.call(*arguments)
        latencies.append(loaded.clock.now() - begin)
    return latencies


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_a_whole_number_of_cycles_equals_the_truth(kind: str, make_case: MakeCase) -> None:
    options = {**EVERY[kind], "clock": "virtual", "stall_every": 50, "stall": "300ms"}
    loaded = Fake().load(make_case("fake", f"fake:{kind}", options=options))
    true = truth(options_of(f"fake:{kind}", options))
    latencies = sorted(_calls(loaded, 2 * int(true["period"])))
    assert sum(latencies) / len(latencies) == true["mean"]
    assert (latencies[0], latencies[-1]) == (true["min"], true["max"])
    for name, q in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
        assert latencies[math.ceil(q * len(latencies)) - 1] == true[name]


def test_distributions_have_the_shape_they_are_named_for() -> None:
    def of(kind: str) -> list[int]:
        return cycle(options_of(f"fake:{kind}", EVERY[kind]))

    assert of("constant") == [5_000_000]
    assert of("script") == [1_000_000, 2_000_000, 50_000_000]
    uniform = of("uniform")
    assert statistics.mean(uniform) == pytest.approx(2e6, rel=1e-6)
    assert 1.5e6 <= min(uniform) < 1.51e6 and 2.49e6 < max(uniform) <= 2.5e6
    lognormal = of("lognormal")
    assert statistics.median(lognormal) == pytest.approx(1e6, rel=0.01)
    assert statistics.stdev(map(math.log, lognormal)) == pytest.approx(0.5, rel=0.02)
    assert of("bimodal").count(20_000_000) == 50 and of("bimodal").count(1_000_000) == 950


def test_the_order_is_seeded() -> None:
    first, again, other = (cycle(options_of("fake:lognormal", {"seed": seed})) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other)


def test_warming_calls_are_slower_and_then_over(make_case: MakeCase) -> None:
    uri = "fake:constant?ms=1&warmup_calls=3&warmup_factor=4&clock=virtual"
    assert _calls(Fake().load(make_case("fake", uri)), 5) == [4_000_000] * 3 + [1_000_000] * 2


def test_every_nth_call_stalls(make_case: MakeCase) -> None:
    uri = "fake:constant?ms=1&stall_every=3&stall=7ms&clock=virtual"
    assert _calls(Fake().load(make_case("fake", uri)), 6) == [1_000_000, 1_000_000, 7_000_000] * 2


def test_loading_takes_its_time(make_case: MakeCase) -> None:
    loaded = Fake().load(make_case("fake", "fake:constant?load_time=2s&clock=virtual"))
    assert loaded.clock.now() == 2_000_000_000


def test_a_batch_counts_its_items_and_tells_the_truth(make_case: MakeCase) -> None:
    loaded = Fake().load(make_case("fake", "fake:constant?ms=3&clock=virtual", inputs=Inputs(batch_size=8)))
    assert loaded.items_per_call == 8
    assert loaded.details["truth"]["mean"] == 3e6  # type: ignore[index, call-overload]


@pytest.mark.serial
@pytest.mark.parametrize("wait", ["spin", "sleep", "hold"])
def test_real_calls_never_end_early(wait: str, make_case: MakeCase) -> None:
    loaded = Fake().load(make_case("fake", f"fake:constant?ms=2&wait={wait}"))
    begin = time.perf_counter()
    loaded.call()
    assert time.perf_counter() - begin >= 0.002
    assert loaded.clock is None


def test_calls_fail_after_the_scripted_number(make_case: MakeCase) -> None:
    loaded = Fake().load(make_case("fake", "fake:constant?clock=virtual&fail_after=2"))
    _calls(loaded, 2)
    with pytest.raises(RuntimeError, match="scripted failure of call 3"):
        loaded.call()


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("fake:constant?latncy=1ms", r"no option 'latncy'\n  did you mean 'latency'\?"),
        ("fake:unifrom", "unknown value 'unifrom'\n  did you mean 'uniform'"),
        ("fake:script", "the script is empty"),
        ("fake:script?script=1ms,soon", "'soon' is not a quantity"),
        ("fake:constant?latency=-1ms", "negative"),
        ("fake:constant?stall_every=2.5", "not a whole number"),
        ("fake:uniform?sigma=2", "would make uniform latencies negative"),
        ("fake:uniform?period=99991&stall_every=99989", "repeat only after"),
        ("fake:constant?crash=segfalt", "did you mean 'segfault'"),
        ("fake:constant?clock=wall", "unknown value 'wall'"),
    ],
)
def test_wrong_options_are_named(uri: str, message: str, make_case: MakeCase) -> None:
    with pytest.raises(LoadError, match=message):
        Fake().load(make_case("fake", uri))


def test_an_absent_device_fails(make_case: MakeCase) -> None:
    with pytest.raises(DeviceError, match="no device 'tpu'"):
        Fake().load(make_case("fake", "fake:constant", device="tpu"))


# ---- faults: each in a process of its own ----

_SCRIPT = """
import sys
from benchwright.records import Case, Target
from benchwright.worker.runtimes.fake import Fake
loaded = Fake().load(Case(name="f", target=Target(runtime="fake", uri=sys.argv[1])))
loaded.call()
print("still here", flush=True)
"""


def _child(uri: str, **options: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, uri],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize(
    ("fault", "code"), [("segfault", -signal.SIGSEGV), ("exit", 3), ("kill", -signal.SIGKILL), ("oom", 1)]
)
@pytest.mark.parametrize("when", ["1", "load"])
def test_faults_end_the_process(fault: str, code: int, when: str) -> None:
    with _child(f"fake:constant?ms=0&crash={fault}&crash_at={when}") as child:
        out, err = child.communicate(timeout=60)
    assert child.returncode == code
    assert b"still here" not in out
    assert (b"MemoryError" in err) == (fault == "oom")


def test_a_hang_hangs() -> None:
    with _child("fake:constant?crash=hang") as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=1.5)
        child.kill()


def test_a_flood_is_100_mb_and_not_utf8(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        subprocess.run(
            [sys.executable, "-c", _SCRIPT, "fake:constant?ms=0&crash=flood"], stdout=log, stderr=log, check=True
        )
    log_file = tmp_path / "log"
    assert log_file.stat().st_size >= FLOOD_BYTES
    with pytest.raises(UnicodeDecodeError):
        log_file.read_bytes()[:1000].decode()
    log_file.unlink()


def test_a_fork_leaves_a_grandchild_in_another_session(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    command = [sys.executable, "-c", _SCRIPT, f"fake:constant?ms=0&crash=fork&pid_file={pid_file}"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.01)
    grandchild = int(pid_file.read_text())
    try:
        assert os.getsid(grandchild) != os.getsid(0)
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_rubbish_reaches_every_channel() -> None:
    read, write = os.pipe()
    with _child("fake:constant?ms=0&crash=channel", pass_fds=(write,)) as child:
        os.close(write)
        out, _ = child.communicate(timeout=60)
    with os.fdopen(read, "rb") as stream:
        assert b"rubbish" in stream.read()
    assert child.returncode == 0 and b"still here" in out


def test_every_fault_is_tested() -> None:
    assert set(FAULTS) == {"segfault", "exit", "kill", "oom", "hang", "flood", "fork", "channel"}

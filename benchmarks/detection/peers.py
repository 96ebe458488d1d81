"""Other people's change-point detectors, from values to indexes; each as it comes and as it does best here."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import numpy as np
from detection.series import Array
from detection.simulator import Detect

from benchwright.stats.changepoint_noise import winsorise


def installed() -> tuple[dict[str, Detect], list[str]]:
    """The detectors of the packages that are here, and the names of the others."""
    found: dict[str, Detect] = {}
    missing: list[str] = []
    for package, detectors in PEERS.items():
        if importlib.util.find_spec(package) is None:
            missing.append(package)
        else:
            found |= detectors
    return found, missing


def otava(values: Array) -> Sequence[int]:
    """Apache Otava (E-divisive means with windows and t-tests) with its defaults."""
    return _otava(values, window=50, p_value=0.001, smallest=0.0)


def otava_tuned(values: Array) -> Sequence[int]:
    """The same, with the best of six settings tried on other reference series."""
    return _otava(values, window=50, p_value=0.00001, smallest=0.01)


def ruptures_kernel(values: Array) -> Sequence[int]:
    """Exact kernel segmentation of logarithms, scaled by their noise, winsorised; the best of five penalties tried."""
    import ruptures

    logs = np.log(values)
    noise = float(np.median(np.abs(np.diff(logs)))) / 0.9539
    if noise == 0.0:
        return []
    clean = winsorise(logs, np.full(len(logs), noise)) / noise
    search = ruptures.KernelCPD(kernel="linear", min_size=6).fit(clean)
    return list(search.predict(pen=4.0 * np.log(len(logs)))[:-1])


def asv(values: Array) -> Sequence[int]:
    """asv's L1 step detection with its own choice of the penalty."""
    from asv.step_detect import detect_steps

    return [int(step[0]) for step in detect_steps([float(value) for value in values])[1:]]


def _otava(values: Array, *, window: int, p_value: float, smallest: float) -> Sequence[int]:
    from otava.series import AnalysisOptions, Metric, Series

    options = AnalysisOptions()
    options.window_len, options.max_pvalue, options.min_magnitude = window, p_value, smallest
    times = list(range(len(values)))
    series = Series("series", None, times, {"value": Metric(1, 1.0)}, {"value": [float(v) for v in values]}, {})
    return sorted(point.index for point in series.analyze(options).change_points["value"])


PEERS: dict[str, dict[str, Detect]] = {
    "otava": {"Otava, default": otava, "Otava, tuned": otava_tuned},
    "ruptures": {"ruptures kernel, tuned": ruptures_kernel},
    "asv": {"asv": asv},
}
SLOW = ("asv",)  # takes seconds for a long series: scored on short ones only

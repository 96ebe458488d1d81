"""The accuracy metrics that a name may stand for. Names do not mind their case."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from benchwright.errors import OptionError, did_you_mean
from benchwright.stats.accuracy import BUILT_IN

MetricSpec = Mapping[str, Any]  # name, metric (a built-in's name, or a class), init

_registered: dict[str, MetricSpec] = {}


class BaseEvalMetric:
    """What a metric of the user's own extends: it sees one record after another, and they are made one figure."""

    def process_record(self, output: Any, target: Any) -> None:
        """Takes in one record: what the model gave, and what would have been right."""
        raise NotImplementedError(f"{type(self).__name__} has no process_record")

    @staticmethod
    def aggregate(metrics: Iterable[Any]) -> Any:
        """Returns one figure of what these metrics saw together."""
        raise NotImplementedError("a metric needs a static aggregate(metrics)")


def list_metrics() -> None:
    """Prints the metrics that a name may stand for, and how each is computed."""
    rows = [("Name", "Description")]
    for name, (_, formula, aliases) in _DOCUMENTED.items():
        rows += [(name, formula), *((alias, f"Alias for {name}") for alias in aliases)]
    rows += [(name, f"{_describe_metric(told)}, registered here") for name, told in _registered.items()]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        sys.stdout.write(f"{name.ljust(width)}  {text}\n")


def register_metric(name: str, cls: type) -> None:
    """Makes `name` stand for a class with `process_record(output, target)` and a static `aggregate(metrics)`."""
    for method in ("process_record", "aggregate"):
        own = getattr(cls, method, None)
        if not callable(own) or own is getattr(BaseEvalMetric, method):
            raise OptionError(
                f"metric {name}: {getattr(cls, '__name__', cls)} has no {method}",
                remedy="a metric needs process_record(self, output, target) and a static aggregate(metrics)",
            )
    _registered[name.lower()] = {"metric": cls, "init": {}}


def register_metric_from_existing(old: str, new: str, **init: Any) -> None:
    """Makes `new` stand for the metric `old` with other arguments, for instance `topk` with `k=3`."""
    known = _resolve_metric(old)
    _registered[new.lower()] = {"metric": known["metric"], "init": {**known["init"], **init}}


def resolve_metrics(metrics: Iterable[Any] | str | None) -> list[MetricSpec]:
    """Resolves the metrics of a call: names, or classes of the user's own."""
    listed = [metrics] if isinstance(metrics, str) else list(metrics or ())
    return [{"name": _name(each), **_resolve_metric(each)} for each in listed]


def _name(metric: Any) -> str:
    return metric if isinstance(metric, str) else str(getattr(metric, "__name__", metric))


def _resolve_metric(metric: Any) -> MetricSpec:
    if not isinstance(metric, str):
        return {"metric": metric, "init": {}}
    name = metric.lower()
    if name in _registered:
        return _registered[name]
    known = {**{key: key for key in BUILT_IN}, **_long_names()}
    if name not in known:
        raise OptionError(f"unknown metric {metric!r}", remedy=did_you_mean(name, [*known, *_registered]))
    return {"metric": known[name], "init": {}}


def _long_names() -> dict[str, str]:
    """The documented names and their aliases, in lower case, with those that they stand for here."""
    return {
        each.lower(): short for name, (short, _, aliases) in _DOCUMENTED.items() for each in (name, short, *aliases)
    }


def _describe_metric(told: MetricSpec) -> str:
    kind = told["metric"] if isinstance(told["metric"], str) else told["metric"].__name__
    given = ", ".join(f"{key}={value!r}" for key, value in told["init"].items())
    return f"{kind}({given})" if given else str(kind)


_DOCUMENTED: Mapping[str, tuple[str, str, tuple[str, ...]]] = {  # name -> ours, formula, aliases
    "Accuracy": ("accuracy", "(TP + TN) / (TP + TN + FP + FN)", ()),
    "TruePositiveRate": ("tpr", "TP / (TP + FN)", ("Sensitivity", "Recall", "Hit Rate", "TPR")),
    "TrueNegativeRate": ("tnr", "TN / (TN + FP)", ("Specificity", "Selectivity", "TNR")),
    "PositivePredictiveValue": ("ppv", "TP / (TP + FP)", ("Precision", "PPV")),
    "NegativePredictiveValue": ("npv", "TN / (TN + FN)", ("NPV",)),
    "FalseNegativeRate": ("fnr", "FN / (FN + TP)", ("FNR",)),
    "FalsePositiveRate": ("fpr", "FP / (FP + TN)", ("FPR",)),
    "FalseDiscoveryRate": ("fdr", "FP / (FP + TP)", ("FDR",)),
    "FalseOmissionRate": ("for", "FN / (FN + TN)", ("FOR",)),
    "PositiveLikelihoodRatio": ("lr+", "TPR / FPR", ("LR+",)),
    "NegativeLikelihoodRatio": ("lr-", "FNR / TNR", ("LR-",)),
    "PrevalenceThreshold": ("prevalencethreshold", "sqrt(FPR) / (sqrt(TPR) + sqrt(FPR))", ()),
    "ThreatScore": ("threatscore", "TP / (TP + FN + FP)", ()),
    "F1Score": ("f1score", "2 TP / (2 TP + FP + FN)", ()),
    "MeanAbsoluteError": ("mae", "sum(|output - target|) / n", ("MAE",)),
    "MeanSquaredError": ("mse", "sum((output - target)^2) / n", ("MSE",)),
    "topk": ("topk", "share of records whose target is among the k highest scores; k=5", ()),
}

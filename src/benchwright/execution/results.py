"""From what the workers of a case answered to the numbers of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from benchwright import schema
from benchwright.execution import client_health, instrument, metrics, pricing
from benchwright.execution.attempt import AttemptOutcome, CopyAnswer
from benchwright.records import Case, Environment, Failure, Metric, Operator, Result, Status, Timeline, Value
from benchwright.records.prices import Price
from benchwright.records.request_metrics import are_of_requests
from benchwright.stats.summary import within_limits
from benchwright.units import limits
from benchwright.worker.endpoints.serve_options import serves
from benchwright.worker.runtimes.outputs import COMPARED

_OF_PROCESSES = frozenset(["rss_peak", "rss_mean"])
REQUESTS = "requests"  # the kind of failure of a client whose requests all failed
REPORTED = "reported"  # begins the method of every metric that a benchmark told of itself


def with_numbers(bare: Result, outcome: AttemptOutcome, *, price: Price | None = None) -> Result:
    """A result with everything that its workers answered; with a price of the machine, also what its work costs."""
    case, answers, told = bare.case, outcome.answers, outcome.answers[0].measured
    derived, reported = metrics.derive(case, answers), _reported_metrics(told["metrics"])
    own = [*derived, *reported]
    seen = _without_client(case, outcome.observation.metrics, derived)
    items = int(answers[0].ready["items_per_call"])
    cost = [] if price is None else pricing.costs_of(own, price, items)
    details = _details(case, answers, price, own)
    if price is not None:
        of_goals, details = pricing.price_goals(details, price)
        cost += of_goals
    cost += pricing.energies_of(own, pricing.power_of(seen, price), price)
    numbers = [_limit_interval(m) for m in (*derived, *cost, *reported, *seen)]
    facts = instrument.facts(case, answers, numbers, outcome.observation)
    failure = schema.decode(Failure, told["failure"], where="answer.failure") if told.get("failure") else None
    if failure and failure.kind == REQUESTS and any(metric.name == "throughput" for metric in derived):
        failure = None  # this client got no answer, and another did
    return replace(
        _mark_failed(bare, failure) if failure else bare,
        metrics=tuple(numbers),
        samples=tuple(answer.samples for answer in answers),
        timelines=_align_timelines(
            (*schema.decode(tuple[Timeline, ...], told["timelines"], where="answer.timelines"), *bare.timelines),
            began=float(told.get("began", 0.0)),
            seconds=max(answer.samples.elapsed for answer in answers) / 1e9,
        ),
        details=details,
        operators=schema.decode(tuple[Operator, ...], told.get("operators", []), where="answer.operators"),
        instrument=facts,
        warnings=(
            *instrument.warnings(case, answers, numbers, facts),
            *([] if price is None else filter(None, [pricing.no_cost(own)])),
            *([] if price is None else filter(None, [pricing.warn_if_old(price, datetime.now(UTC).date())])),
        ),
        environment=_add_worker_facts(bare.environment, answers[0].ready, answers[0].measured),
    )


def _align_timelines(found: Sequence[Timeline], *, began: float, seconds: float) -> tuple[Timeline, ...]:
    """What was seen beside the calls that count, by their own clock: a search issued others before and after them."""
    if not began:
        return tuple(found)
    aligned = []
    for timeline in found:
        pairs = zip(timeline.seconds, timeline.values, strict=True)
        if kept := [(at - began, value) for at, value in pairs if 0.0 <= at - began <= seconds]:
            instants, values = zip(*kept, strict=True)
            aligned.append(replace(timeline, seconds=instants, values=values))
    return tuple(aligned)


def _without_client(case: Case, seen: Sequence[Metric], derived: Sequence[Metric]) -> tuple[Metric, ...]:
    """What monitors saw of the workers; of a client, whose server runs elsewhere, no direction of it is better."""
    if not are_of_requests([metric.name for metric in derived]) or serves(case):
        return tuple(seen)
    return tuple(replace(metric, better=None) if metric.name in _OF_PROCESSES else metric for metric in seen)


def _details(case: Case, answers: Sequence[CopyAnswer], price: Price | None, own: Sequence[Metric]) -> dict[str, Value]:
    """What the first copy's runtime tells of what it loaded; of several copies, what each of them did."""
    found: dict[str, Value] = {"device": answers[0].ready["device"], **answers[0].measured["details"]}
    if len(answers) > 1:
        found["copies"] = metrics.per_copy(case, answers)
        if client_health.CLIENT in found:  # each copy is a client of its own
            found["errors"] = client_health.join_errors(answers)
            found["clients"] = [answer.measured["details"].get(client_health.CLIENT) for answer in answers]
    if case.load.find_rate and (items := int(answers[0].ready["items_per_call"])) > 1:
        found["items_per_call"] = items  # the rate that is found counts calls
    if price is not None:
        found["cost_per_hour"] = price.per_hour
        if price.shape or price.currency:  # a mere number says nothing more
            found["price"] = schema.encode(price)
        if (rate := pricing.rate_of(own)) is not None:
            found["cost_by"] = rate.name  # the metric whose items were priced
    return found


def _limit_interval(metric: Metric) -> Metric:
    """The metric with an interval that ends where the quantity does."""
    return replace(metric, estimate=within_limits(metric.estimate, limits(metric.name, metric.unit)))


def _mark_failed(bare: Result, failure: Failure) -> Result:
    """A result that has numbers and is bad all the same: its target told of its own failure."""
    status = Status.TIMEOUT if failure.kind == "timeout" else Status.FAILED
    return replace(bare, status=status, error=replace(failure, log_tail=bare.log_tail), log_tail="")


def _reported_metrics(told: object) -> list[Metric]:
    """The metrics that a benchmark reports of itself, marked as reported; those of its answers were compared by us, and
    are not marked.
    """
    found = []
    for metric in schema.decode(tuple[Metric, ...], told, where="answer.metrics"):
        method = metric.estimate.method
        marked = method if method.startswith((REPORTED, COMPARED)) else f"{REPORTED}: {method}" if method else REPORTED
        found.append(replace(metric, estimate=replace(metric.estimate, method=marked)))
    return found


def _add_worker_facts(
    environment: Environment, ready: Mapping[str, object], measured: Mapping[str, object]
) -> Environment:
    """The environment with what only the worker knows: its runtime's versions and its packages."""
    versions, packages = ready["versions"], measured["packages"]
    assert isinstance(versions, dict) and isinstance(packages, dict)
    return replace(environment, runtimes={**environment.runtimes, **versions}, packages=packages)

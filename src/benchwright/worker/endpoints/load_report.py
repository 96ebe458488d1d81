"""What there is to tell of a load beside its columns: the client's health, what failed, lengths not as asked for."""

from __future__ import annotations

from dataclasses import dataclass

from benchwright.records import Failure, ResultWarning, Samples, Value
from benchwright.stats import ranks
from benchwright.worker.endpoints.reading import ReadTraffic
from benchwright.worker.endpoints.request_times import gaps_of
from benchwright.worker.endpoints.traffic import ClientHealth, Outcome

LEAST_DIFFERENCE = 0.05  # of counts of tokens: what is told


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """One load of one copy, once its answers are read."""

    read: ReadTraffic
    health: ClientHealth
    prepared: int  # requests
    repeated: bool = False  # they were too few, and were sent again

    def details(self) -> dict[str, Value]:
        """What results keep of it."""
        errors: dict[str, Value] = {
            outcome.name.lower(): {"count": kind.count, "first": kind.first}
            for outcome, kind in sorted(self.read.failures.items())
        }
        return {
            "client": describe_client(self.health, self.read),
            "errors": errors,
            "prepared_requests": self.prepared,
            "repeated_requests": self.repeated,
        }

    def failure(self) -> Failure | None:
        """Nothing succeeded: there is no number of a request that did."""
        if self.read.failed < self.read.samples.calls:
            return None
        kinds = "; ".join(
            f"{kind.count} {outcome.name.lower()}: {kind.first}" for outcome, kind in self.read.failures.items()
        )
        return Failure(kind="requests", message=f"all {self.read.samples.calls} requests failed: {kinds}")

    def warnings(self) -> list[ResultWarning]:
        """What is doubtful about it."""
        read = self.read
        found = [*_length_warnings(read.samples), *_empty_warnings(read), *_bundle_warnings(read.samples)]
        if read.failed and read.failed < read.samples.calls:
            kinds = ", ".join(f"{kind.count} {outcome.name.lower()}" for outcome, kind in read.failures.items())
            first = next(iter(read.failures.values())).first
            seen = f"{read.failed} of {read.samples.calls} requests failed: {kinds}; the first said: {first}"
            remedy = "percentiles are those of requests that succeeded; bound the rest with --objective 'errors<0.1%'"
            found.append(ResultWarning(code="requests-failed", seen=seen, remedy=remedy))
        if self.repeated:
            seen = f"more requests were sent than the {self.prepared} prepared ones, so some were sent again"
            found.append(ResultWarning(code="requests-repeated", seen=seen, remedy="a prefix cache may have answered"))
        if self.health.cut_short:
            seen = f"it ended early: {self.health.cut_short}"
            remedy = "a shorter --duration, or more --copies"
            found.append(ResultWarning(code="cut-short", seen=seen, remedy=remedy))
        return found


def _length_warnings(samples: Samples) -> list[ResultWarning]:
    """What there is to say of lengths: answers that are not as long as was asked, counts that disagree."""
    found = []
    asked, told, counted = _sums(samples, "asked_tokens", "output_tokens", "counted_tokens")
    if asked and told and abs(told / asked - 1) > LEAST_DIFFERENCE:
        seen = f"answers have {told / asked:.0%} of the tokens that were asked for"
        remedy = "where the server knows it, --option ignore_eos=true; times per token are of what came"
        found.append(ResultWarning(code="answer-lengths", seen=seen, remedy=remedy))
    if told and counted and abs(counted / told - 1) > LEAST_DIFFERENCE:
        seen = f"the server counts {told:,} tokens of its answers, the local tokenizer {counted:,}"
        remedy = "is it the tokenizer of this model? The server's count is the one that is used"
        found.append(ResultWarning(code="token-counts-differ", seen=seen, remedy=remedy))
    return found


def _empty_warnings(read: ReadTraffic) -> list[ResultWarning]:
    """Streams that succeeded without a word: they have no time to first token, which nobody would see otherwise."""
    columns = read.samples.columns
    if not read.streamed:
        return []
    texts = [text for text, outcome in zip(columns["first_text"], columns["outcome"], strict=True) if not outcome]
    if not (empty := sum(text < 0 for text in texts)):
        return []
    seen = f"{empty:,} of {len(texts):,} answers hold no text: times to first token are those of the others"
    return [ResultWarning(code="answers-empty", seen=seen, remedy="ask one by hand; --option ignore_eos=true may help")]


def _bundle_warnings(samples: Samples) -> list[ResultWarning]:
    """Most events came together with others: the gaps between them are nothing, and say little of the model."""
    gaps = [gap for own in gaps_of(samples).values() for gap in own]
    together = gaps.count(0)
    if 2 * together <= len(gaps):
        return []
    seen = (
        f"{together:,} of {len(gaps):,} events with text arrived together with the one before: gaps (itl) are mostly 0"
    )
    remedy = "the server, a proxy or a busy machine bundles them: tpot tells how fast tokens come"
    return [ResultWarning(code="events-bundled", seen=seen, remedy=remedy)]


def _sums(samples: Samples, *names: str) -> list[int]:
    """The sums of columns over requests that succeeded; 0 where one of them is unknown."""
    whole = []
    for name in names:
        pairs = zip(samples.columns[name], samples.columns["outcome"], strict=True)
        values = [value for value, outcome in pairs if outcome == Outcome.OK]
        whole.append(0 if any(value < 0 for value in values) else sum(values))
    return whole


def describe_client(health: ClientHealth, read: ReadTraffic) -> dict[str, Value]:
    """What the client did, for whoever judges whether it was the bottleneck."""
    late = sorted(read.samples.columns["lateness"])
    lags = sorted(health.lags)
    return {
        "send_lateness_p99_ns": late[ranks.rank(len(late), 0.99) - 1] if late else 0,
        "loop_lag_p99_ns": lags[ranks.rank(len(lags), 0.99) - 1] if lags else 0,
        "cpu_percent": 100 * health.cpu / health.elapsed if health.elapsed else 0.0,
        "connections_opened": health.opened,
        "requests_on_kept_connections": health.reused,
        "reconnects": health.reconnects,
        "waited_for_a_connection": health.queued,
    }

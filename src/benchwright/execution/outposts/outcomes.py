"""What came of an attempt, as a message: raw columns travel as they lie in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchwright import schema
from benchwright.errors import ChannelError, DecodeError
from benchwright.execution import frames
from benchwright.execution.attempt import AttemptOutcome, CopyAnswer
from benchwright.machine.monitors import Observation
from benchwright.records import Failure, Int64s, Status
from benchwright.worker import channel
from benchwright.worker.channel import Frame

KIND = "outcome"


def pack(outcome: AttemptOutcome) -> Frame:
    """The outcome as a message."""
    answers: list[dict[str, Any]] = []
    arrays: dict[str, Int64s] = {}
    for number, answer in enumerate(outcome.answers):
        data, columns = channel.pack_samples(answer.samples)
        arrays |= {f"{number}/{name}": values for name, values in columns.items()}
        measured = {**answer.measured, "samples": data}
        answers.append({"ready": dict(answer.ready), "measured": measured})
    return Frame(
        kind=KIND,
        data={
            "status": outcome.status.value,
            "failure": schema.encode(outcome.failure),
            "observation": schema.encode(outcome.observation),
            "log_tail": outcome.log_tail,
            "details": dict(outcome.details),
            "early": outcome.early,
            "answers": answers,
        },
        arrays=arrays,
    )


def unpack(frame: Frame) -> AttemptOutcome:
    """The inverse of `pack`; a `ChannelError` where the message does not hold what an outcome must."""
    data = frame.data
    try:
        failure = data["failure"]
        return AttemptOutcome(
            status=Status(data["status"]),
            answers=tuple(_answer(told, _columns(frame, number)) for number, told in enumerate(data["answers"])),
            failure=None if failure is None else schema.decode(Failure, failure, where="outcome.failure"),
            observation=schema.decode(Observation, data["observation"], where="outcome.observation"),
            log_tail=str(data["log_tail"]),
            details=data["details"],
            early=bool(data["early"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, DecodeError) as error:
        raise ChannelError(f"the outpost's answer cannot be used: {type(error).__name__}: {error}") from None


def _columns(frame: Frame, number: int) -> Mapping[str, Int64s]:
    own = f"{number}/"
    return {name.removeprefix(own): values for name, values in frame.arrays.items() if name.startswith(own)}


def _answer(told: dict[str, Any], columns: Mapping[str, Int64s]) -> CopyAnswer:
    """One copy's answer, checked like that of a worker here."""
    ready = frames.check_frame(Frame(kind="ready", data=told["ready"])).data
    measured = frames.check_frame(Frame(kind="measured", data=told["measured"], arrays=columns)).data
    return CopyAnswer(samples=channel.unpack_samples(measured["samples"], columns), ready=ready, measured=measured)

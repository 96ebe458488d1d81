"""Rules of what is reported, and whom it is told: thresholds, mutes, targets, each with what it would have done lately.

Mutes and thresholds themselves are changed by the verbs of the store, as programs do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from benchwright.analysis import rule_preview
from benchwright.analysis.comparison import SMALLEST, format_percent
from benchwright.analysis.rule_preview import RecentFindings, RulePreview
from benchwright.errors import BenchwrightError, OptionError
from benchwright.notify import all_targets, open_notifier, try_target
from benchwright.notify.addresses import identity_of, mask_address
from benchwright.notify.targets import PREFIX, check_kept_target, findings_to_tell, wants
from benchwright.pages.lines import milliseconds
from benchwright.pages.series import CASES
from benchwright.pages.shapes import MuteLine, RulesPage, TargetLine, TargetsPage, ThresholdLine
from benchwright.records.findings import Threshold
from benchwright.server.access import Admins, Reads
from benchwright.server.answers import MessageDeliveries, NewTarget, TargetChanges, TargetTest, ToldFindings
from benchwright.server.bodies import Small
from benchwright.server.context import answer, archive, context_of, record
from benchwright.server.documents import LONGEST_NAME, check_names, record_of
from benchwright.server.errors import refusal
from benchwright.server.openapi import answers_with, takes
from benchwright.server.remarks import now, sign
from benchwright.store.archive import NotifyTarget
from benchwright.system.http import PassingError

router = APIRouter(tags=["rules"])
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]
Name = Annotated[str, Query(max_length=LONGEST_NAME)]
_MOST_TOLD = 100  # findings or causes in one request


@router.get("/rules", responses=answers_with(RulesPage), summary="Mutes and thresholds")
def list_rules(request: Request, visitor: Reads) -> Response:
    """What is muted, and the smallest changes that are reported. `store/mute` and the like change them."""
    store = archive(request)
    page = RulesPage(
        mutes=[MuteLine(what=m.what, who=m.who, at=milliseconds(m.at), reason=m.reason) for m in store.mutes()],
        thresholds=[ThresholdLine(case=t.case, metric=t.metric, smallest=t.smallest) for t in store.thresholds()],
        usual=SMALLEST,
        cases=store.case_names()[:CASES],
        metrics=store.metric_names(),
    )
    return answer(request, page)


@router.get("/rules/preview", responses=answers_with(RulePreview), summary="What a rule would have done lately")
def preview(
    request: Request,
    visitor: Reads,
    kind: Annotated[Literal["mute", "threshold", "target"], Query(description="Which rule is meant.")],
    what: Annotated[str, Query(max_length=LONGEST_NAME, description="Of a mute: a series, or a case.")] = "",
    case: Annotated[str, Query(max_length=LONGEST_NAME, description="Of a threshold or target; `*` for all.")] = "*",
    metric: Name = "",
    smallest: Annotated[float, Query(ge=0, le=1e6, allow_inf_nan=False, description="A share.")] = 0.0,
    verdict: Annotated[Literal["worse", "better", "both"], Query(description="Of a target.")] = "worse",
) -> Response:
    """How many of the findings of the last 90 days it would have told or silenced. Nothing is changed."""
    recent = _recent(request)
    if kind == "mute":
        found = rule_preview.preview_mute(recent, what)
    elif kind == "threshold":
        found = rule_preview.preview_threshold(recent, Threshold(case=case, metric=metric, smallest=smallest))
    else:
        verdicts = ("worse", "better") if verdict == "both" else (verdict,)
        target = NotifyTarget(address="", cases=case, smallest=smallest, verdicts=verdicts)
        found = _preview_target(recent, target)
    return answer(request, found)


@router.get("/notify-targets", responses=answers_with(TargetsPage), summary="Who is told of findings")
def list_targets(request: Request, visitor: Admins) -> Response:
    """The targets of the server's file, and those that are kept here. Addresses are shown without their secrets."""
    recent = _recent(request)
    targets = all_targets(context_of(request).settings.notify, archive(request))
    return answer(request, TargetsPage(targets=[_target_line(one, recent) for one in targets], prefix=PREFIX))


@router.post(
    "/notify-targets",
    responses=answers_with(TargetLine, status=201, note="The target as it is kept."),
    openapi_extra=takes(NewTarget),
    status_code=201,
    summary="Tell somebody of findings",
)
def add_target(request: Request, visitor: Admins, body: Small) -> Response:
    """Secrets are named, not sent: `${BENCHWRIGHT_NOTIFY_NAME}` is a variable where the server runs."""
    wish = record_of(NewTarget, body, context_of(request).settings.limits)
    target = NotifyTarget(
        address=wish.address,
        verdicts=tuple(wish.verdicts),
        cases=wish.cases,
        smallest=wish.smallest,
        who=sign(visitor),
        made_at=now(),
    )
    kept = _keep_target(request, target)
    record(request, visitor, "notify target", f"{kept.id}: {_describe_target(kept)}")
    return answer(request, _target_line(kept, _recent(request)), status=201)


@router.patch(
    "/notify-targets/{number}",
    responses=answers_with(TargetLine),
    openapi_extra=takes(TargetChanges),
    summary="Change whom to tell of what",
)
def change_target(request: Request, visitor: Admins, number: Number, body: Small) -> Response:
    """What is left out stays as it is."""
    wish = record_of(TargetChanges, body, context_of(request).settings.limits)
    before = _find_target(request, number)
    after = replace(
        before,
        address=before.address if wish.address is None else wish.address,
        verdicts=before.verdicts if wish.verdicts is None else tuple(wish.verdicts),
        cases=before.cases if wish.cases is None else wish.cases,
        smallest=before.smallest if wish.smallest is None else wish.smallest,
        who=sign(visitor),
        made_at=now(),
    )
    kept = _keep_target(request, after)
    told = f"{number}: {_describe_target(before)} -> {_describe_target(kept)}"
    record(request, visitor, "notify target changed", told)
    return answer(request, _target_line(kept, _recent(request)))


@router.delete("/notify-targets/{number}", status_code=204, summary="Tell somebody no more")
def remove_target(request: Request, visitor: Admins, number: Number) -> Response:
    """What waits for the target is not sent."""
    gone = archive(request).drop_notify_target(number)
    if gone is None:
        raise _refuse_unknown(number)
    record(request, visitor, "notify target removed", f"{number}: {_describe_target(gone)}")
    return Response(status_code=204)


@router.post(
    "/notify-targets/send",
    responses=answers_with(MessageDeliveries),
    openapi_extra=takes(ToldFindings),
    summary="Tell all targets of findings",
)
def send_messages(request: Request, visitor: Admins, body: Small) -> Response:
    """What `benchwright notify send` does, where the secrets are. Of a cause those are told that were reported."""
    here, store = context_of(request).settings, archive(request)
    wish = record_of(ToldFindings, body, here.limits)
    check_names({"findings": wish.findings}, "body")
    if len(wish.findings) > _MOST_TOLD:
        raise OptionError(f"findings: more than {_MOST_TOLD} names", remedy="name a cause, or ask several times")
    if not all_targets(here.notify, store):
        raise OptionError(
            "there is nobody to notify", remedy="add a target, or name some in [notify] of the server's file"
        )
    meant = [one for reference in wish.findings for one in findings_to_tell(store, reference)]
    told = open_notifier(here.store_url, here.notify).tell(meant, store, asked=True, again=wish.again)
    what = "; ".join(f"{one.target}: {one.outcome} {', '.join(one.findings)}" for one in told)
    record(request, visitor, "notify", what or "nothing was left to tell")
    return answer(request, MessageDeliveries(told=told))


@router.post("/notify-targets/{number}/test", responses=answers_with(TargetTest), summary="Send a test message")
def test_target(request: Request, visitor: Admins, number: Number) -> Response:
    """The message says that it is a test. GitHub and GitLab get none: there the token is tried."""
    target = _find_target(request, number)
    try:
        outcome = TargetTest(sent=True, why=try_target(target.address))
    except (BenchwrightError, PassingError) as error:
        remedy = getattr(error, "remedy", "")
        why = error.message if isinstance(error, BenchwrightError) else str(error)
        outcome = TargetTest(sent=False, why=f"{why} ({remedy})" if remedy else why)
    fared = "sent" if outcome.sent else "failed"
    record(request, visitor, "notify target tested", f"{number}: {mask_address(target.address)}: {fared}")
    return answer(request, outcome)


def _keep_target(request: Request, target: NotifyTarget) -> NotifyTarget:
    check_kept_target(target)
    check_names({"cases": [target.cases]}, "body")
    if target.address in context_of(request).settings.notify.targets:
        raise OptionError("the server's file names this target already", remedy="change it there")
    return archive(request).put_notify_target(target)


def _find_target(request: Request, number: int) -> NotifyTarget:
    found = next((one for one in archive(request).notify_targets() if one.id == number), None)
    if found is None:
        raise _refuse_unknown(number)
    return found


def _refuse_unknown(number: int) -> Exception:
    return refusal(404, f"no target {number}", "somebody may have removed it; GET notify-targets lists them")


def _recent(request: Request) -> RecentFindings:
    return context_of(request).recent.read(archive(request))


def _preview_target(recent: RecentFindings, target: NotifyTarget) -> RulePreview:
    return rule_preview.preview_target(recent, lambda finding: wants(target, finding))


def _target_line(target: NotifyTarget, recent: RecentFindings) -> TargetLine:
    return TargetLine(
        id=target.id,
        address=mask_address(target.address),
        verdicts=target.verdicts,
        cases=target.cases,
        smallest=target.smallest,
        who=target.who,
        made_at=milliseconds(target.made_at) if target.made_at else 0,
        preview=_preview_target(recent, target),
        identity=identity_of(target.address),
    )


def _describe_target(target: NotifyTarget) -> str:
    """Returns what is told to whom, for the audit log, without secrets."""
    least = f" from {format_percent(target.smallest)}" if target.smallest else ""
    return f"{mask_address(target.address)} {' and '.join(target.verdicts)}{least} in {target.cases}"

"""`benchwright findings mute`, `threshold` and `rules`: of which changes nobody is told."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from benchwright.cli.options import json_option, now, print_json, store_option, who
from benchwright.records.findings import Mute, Threshold
from benchwright.store import open_configured_store

if TYPE_CHECKING:
    from benchwright.analysis.rule_preview import RulePreview
    from benchwright.store import Store

preview_option = click.option(
    "--preview", is_flag=True, help="Only say what it would have done in the last 90 days; change nothing."
)


@click.command()
@click.argument("what", metavar="CASE|SERIES")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who look later.")
@click.option("--off", is_flag=True, help="Report changes there again.")
@preview_option
@store_option
@json_option
@click.pass_context
def mute(
    context: click.Context, what: str, reason: str, off: bool, preview: bool, store: str | None, as_json: bool
) -> None:
    """Report no change in a series, or in all series of the cases of that name; * stands for anything."""
    if off and preview:
        raise click.UsageError("--preview shows what a mute would silence; what one has silenced was not kept")
    with closing(open_configured_store(store or context.obj)) as results:
        if preview:
            from benchwright.analysis.rule_preview import preview_mute, recent_findings

            _show_previews([preview_mute(recent_findings(results), what)], as_json=as_json)
            return
        if off:
            said = f"{what}: {'no longer muted' if results.unmute(what) else 'was not muted'}"
        else:
            results.mute(Mute(what=what, who=who(), at=now(), reason=reason))
            said = f"{what}: muted"
        _show_rules(results, [said], as_json=as_json)


@click.command()
@click.argument("case", metavar="CASE")
@click.argument("smallest", metavar="PERCENT")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="The metric to judge; repeatable. Default: every metric."
)
@preview_option
@store_option
@json_option
@click.pass_context
def threshold(
    context: click.Context,
    case: str,
    smallest: str,
    metrics: tuple[str, ...],
    preview: bool,
    store: str | None,
    as_json: bool,
) -> None:
    """Report only changes of at least PERCENT (5%) for the cases of that name; `none` removes the threshold."""
    from benchwright.units import parse_percent

    least = None if smallest == "none" else parse_percent(smallest, "PERCENT")
    if preview and least is None:
        raise click.UsageError("--preview needs a percentage: what was below a threshold was not kept")
    with closing(open_configured_store(store or context.obj)) as results:
        if preview and least is not None:
            from benchwright.analysis.rule_preview import preview_threshold, recent_findings

            recent = recent_findings(results)
            rules = [Threshold(case=case, metric=metric, smallest=least) for metric in metrics or ("",)]
            _show_previews([preview_threshold(recent, rule) for rule in rules], as_json=as_json)
            return
        said = []
        for metric in metrics or ("",):
            if least is None:
                gone = results.drop_threshold(case, metric)
                said.append(f"{case}: {'the threshold is removed' if gone else 'there was no threshold'}")
            else:
                results.set_threshold(Threshold(case=case, metric=metric, smallest=least))
                of = f"of {metric} " if metric else ""
                said.append(f"{case}: changes {of}below {100 * least:g} % are not reported")
        _show_rules(results, said, as_json=as_json)


def _show_previews(previews: list[RulePreview], *, as_json: bool) -> None:
    from benchwright.units.numbers import printable

    if as_json:
        print_json("rule-previews", previews)
        return
    for preview in previews:
        click.echo(preview.sentence)
        for one in preview.findings:
            size = f"{100 * (one.ratio - 1):+.3g} %"
            click.echo(printable(f"  {one.id}  {one.verdict}  {size}  {one.case}  {one.metric}"))


def _show_rules(store: Store, said: list[str], *, as_json: bool) -> None:
    """Says what was done with the rules; as JSON, how they are now."""
    if as_json:
        print_json("finding-rules", {"mutes": store.mutes(), "thresholds": store.thresholds()})
        return
    for line in said:
        click.echo(line)


@click.command()
@store_option
@json_option
@click.pass_context
def rules(context: click.Context, store: str | None, as_json: bool) -> None:
    """List what is muted, and the thresholds."""
    from benchwright.units.numbers import printable

    with closing(open_configured_store(store or context.obj)) as results:
        if as_json:
            _show_rules(results, [], as_json=True)
            return
        mutes, thresholds = results.mutes(), results.thresholds()
    for one in mutes:
        click.echo(printable(f"muted  {one.what}  {one.who} {one.at[:10]} {one.reason}".rstrip()))
    for bound in thresholds:
        click.echo(printable(f"from {100 * bound.smallest:g} %  {bound.case}  {bound.metric or 'every metric'}"))
    if not mutes and not thresholds:
        click.echo("nothing is muted, and there are no thresholds")

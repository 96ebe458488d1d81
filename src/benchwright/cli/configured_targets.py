"""What a command measures that names no target: what `[run]` in `benchwright.toml` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from benchwright.errors import OptionError

if TYPE_CHECKING:
    from benchwright.config import RunSettings

_RUN = "benchwright.cli.verbs.run"


class TargetCommand(click.Command):
    """A command with targets. Where the command line names none, they and their options come from `benchwright.toml`.

    What the command line says goes before what the file says.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing and not self.has_targets(ctx):
            self._take_settings(ctx)
        return rest

    def has_targets(self, ctx: click.Context) -> bool:
        """Whether the command line says what to measure."""
        return bool(ctx.params["targets"])

    def _take_settings(self, ctx: click.Context) -> None:
        from benchwright import config

        settings = config.load().run
        of_run = _find_options(settings)
        if not settings.targets:
            return  # whoever measures says that there is nothing to measure
        ctx.params["targets"] = settings.targets
        mine = _options_by_flag(self)
        for key, value in settings.options.items():
            option, read = mine.get(_flag(key)), _read_value(ctx, of_run[key], key, value)
            if option is None or option.help != of_run[key].help:  # not a flag of this command, or another one
                continue
            if option.name and ctx.get_parameter_source(option.name) is ParameterSource.DEFAULT:
                ctx.params[option.name] = read


def _find_options(settings: RunSettings) -> dict[str, click.Option]:
    """The options of `benchwright run` that the settings name; one that it does not have is refused."""
    import importlib

    from benchwright.errors import did_you_mean

    known = _options_by_flag(importlib.import_module(_RUN).command)
    for key in settings.options:
        if _flag(key) not in known:
            near = did_you_mean(_flag(key), known).replace("--", "")
            raise OptionError(f"benchwright.toml: run.options: benchwright run has no flag {_flag(key)}", remedy=near)
    return {key: known[_flag(key)] for key in settings.options}


def _options_by_flag(command: click.Command) -> dict[str, click.Option]:
    return {flag: option for option in command.params if isinstance(option, click.Option) for flag in option.opts}


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _read_value(ctx: click.Context, option: click.Option, key: str, value: Any) -> Any:
    """The value of the file as the command line would give it."""
    try:
        return option.type_cast_value(ctx, _as_typed(option, value))
    except click.BadParameter as error:
        raise OptionError(f"benchwright.toml: run.options.{key}: {error.message}", remedy="") from None


def _as_typed(option: click.Option, value: Any) -> Any:
    """The text that somebody would type for it, or several where the flag may be repeated."""
    if option.is_flag:
        return value
    if option.multiple:
        return [_text(item) for item in (value if isinstance(value, list) else [value])]
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

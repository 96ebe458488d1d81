"""The flags of served models, for every verb that measures: what is sent, and how the server is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from benchwright.records import Scalar
    from benchwright.targets.sources import Request

F = TypeVar("F", bound=Callable[..., Any])

# Each is a parameter of the endpoint: a list of them is a dimension.
_DIMENSIONS = {
    "model": click.option("--model", metavar="A,B", help="Served models: the model to ask for."),
    "input_tokens": click.option(
        "--input-tokens", metavar="N,M", help="Served models: length of prompts: 128, uniform(64,256), normal(128,32)."
    ),
    "output_tokens": click.option(
        "--output-tokens", metavar="N,M", help="Served models: tokens asked for, in the same words. Default: 64."
    ),
}
_PLAIN = {
    "data": click.option(
        "--data",
        type=click.Path(),
        metavar="FILE",
        help="Served models: prompts or bodies from a file, JSON Lines or text.",
    ),
    "shared_prefix": click.option(
        "--shared-prefix", metavar="50%", help="Served models: share that all prompts begin with. Default: 0 %."
    ),
    "turns": click.option("--turns", metavar="N", help="Served models: turns of each conversation."),
    "think_time": click.option(
        "--think-time", metavar="SECONDS", help="Served models: wait between an answer and the next turn."
    ),
    "images": click.option("--images", metavar="N", help="Served models: images in each prompt."),
    "image_size": click.option("--image-size", metavar="512x512", help="Served models: width and height of images."),
    "image_kind": click.option("--image-kind", metavar="smooth|noise", help="Served models: what images show."),
    "tokenizer": click.option(
        "--tokenizer",
        type=click.Path(),
        metavar="FILE",
        help="Served models: a local tokenizer.json to count tokens by.",
    ),
    "body": click.option(
        "--body", metavar="JSON", help="Served models: fields of every request; of a plain route the whole body."
    ),
    "answer": click.option(
        "--answer", metavar="PATH", help="Served models: where a plain route answers: outputs[0].data."
    ),
    "key_env": click.option("--key-env", metavar="NAME", help="Served models: the variable that holds the key."),
    "key_file": click.option(
        "--key-file", type=click.Path(), metavar="FILE", help="Served models: the file that holds the key."
    ),
    "request_timeout": click.option(
        "--request-timeout", metavar="SECONDS", help="Served models: a request that takes longer failed. Default: 60s."
    ),
    "serve": click.option(
        "--serve", metavar="COMMAND", help="Start this server for each process that measures; {port} is a free one."
    ),
    "health": click.option("--health", metavar="PATH", help="With --serve: the path that answers when it is ready."),
}
_TALK = ("shared_prefix", "turns", "think_time")  # what is sent differs by these, so they are dimensions as well
_STREAM = click.option("--stream/--no-stream", default=None, help="Served models: answers in pieces, or whole.")
_INSECURE = click.option("--insecure", is_flag=True, help="Served models: accept any certificate; the result says so.")
_HEADER = click.option(
    "--header", multiple=True, metavar="'NAME: VALUE'", help="Served models: sent with each request."
)


def endpoint_options(function: F) -> F:
    """Adds the flags of served models; `add_endpoint_settings` reads the values."""
    for option in reversed((*_DIMENSIONS.values(), *_PLAIN.values(), _STREAM, _INSECURE, _HEADER)):
        function = option(function)
    return function


def add_endpoint_settings(given: Mapping[str, Any], request: Request) -> Request:
    """The request with what the flags of served models say; a flag is refused where no target is one."""
    if not any(given[name] for name in (*_DIMENSIONS, *_PLAIN, "insecure", "header")) and given["stream"] is None:
        return request  # most runs are of something else, and need not import this
    from benchwright.workflows.endpoint_settings import endpoint_values, refuse_elsewhere

    params, options = endpoint_values(
        dimensions={name: given[name] for name in (*_DIMENSIONS, *_TALK) if given[name]},
        plain={name: given[name] for name in _PLAIN if given[name] and name not in _TALK},
        stream=given["stream"],
        insecure=given["insecure"],
        headers=given["header"],
    )
    refuse_elsewhere(request, {*params, *options})
    whole: dict[str, Scalar] = {**request.options, **options}
    return replace(request, params={**request.params, **params}, options=whole)

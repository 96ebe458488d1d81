"""The bodies of a plain route: what a template is filled with, a file as it is, or one body for each row of a file."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from benchwright.errors import RequestError
from benchwright.records import Case, Scalar
from benchwright.system import streams
from benchwright.worker.endpoints.exchanges import Exchange
from benchwright.worker.endpoints.images import make_png, parse_image_size
from benchwright.worker.endpoints.plain.templates import BodyTemplate, Place, parse_template
from benchwright.worker.endpoints.wire import HEADER_OPTION

EMPTY = "{}"
FILE_MARK = "@"  # --body @FILE
MOST_BODY = 64 * 2**20  # bytes of a file that is sent as it is
WHOLE = "body"  # the role of a text that is all of the body
METHODS = ("POST", "PUT", "GET")
USUAL_IMAGE = "224x224"  # pixels of `{image}`
USUAL_INPUT = "input"  # the name of `{input}`


class Body:
    """What every request holds: text with places, or the bytes of a file."""

    def __init__(self, options: Mapping[str, Scalar]) -> None:
        text = str(options.get("body", EMPTY))
        kind = content_type(options)
        is_json = "json" in kind if kind else True
        self.raw: bytes | None = None
        if text.startswith(FILE_MARK):
            content = _read_file(Path(text.removeprefix(FILE_MARK)))
            if not is_json:
                self.raw = content
            else:
                text = _decode(content, text.removeprefix(FILE_MARK))
        if str(options.get("method", "POST")) == "GET":
            if "body" in options:
                raise RequestError("a GET has no body", remedy="leave --body out, or use method=POST")
            self.raw = b""
        self.template = parse_template("" if self.raw is not None else text, is_json=is_json and self.raw is None)
        for place in self.template.places:
            if place.name == "image":
                image_size(place.argument)  # says what is wrong with it

    def input_names(self) -> list[str]:
        """The names of the arrays that are filled in."""
        places = (place for place in self.template.places if place.name == "input")
        return list(dict.fromkeys(place.argument or USUAL_INPUT for place in places))


def image_size(text: str) -> tuple[int, int]:
    """Width and height of `{image:640x480}`; those of `{image}` are usual ones."""
    return parse_image_size(text or USUAL_IMAGE, "--body: {image}")


class BodyWriter:
    """Fills a template in for each request. Arrays and pictures are made once, and go round."""

    def __init__(self, body: Body, case: Case) -> None:
        self._body = body
        self._arrays, self.shapes = _draw_arrays(body, case)
        self._pictures = _draw_pictures(body.template, case)
        self.distinct = max([1, *map(len, self._arrays.values()), *map(len, self._pictures.values())])

    def write(self, exchange: Exchange) -> bytes:
        """The body of one request."""
        if exchange.messages and exchange.messages[0][0] == WHOLE:
            return exchange.messages[0][1].encode()
        if exchange.body is not None:
            return json.dumps(exchange.body).encode()
        if self._body.raw is not None:
            return self._body.raw
        return self._body.template.fill(lambda place: self._value(place, exchange))

    def _value(self, place: Place, exchange: Exchange) -> str:
        """What stands at a place, as JSON writes it."""
        number = exchange.session
        if place.name == "input":
            arrays = self._arrays[place.argument or USUAL_INPUT]
            return arrays[number % len(arrays)]
        if place.name == "image":
            pictures = self._pictures[place.argument]
            return pictures[number % len(pictures)]
        if place.name == "prompt":
            return json.dumps("\n".join(text for _, text in exchange.messages))
        if place.name == "output_tokens":
            return str(exchange.output_tokens or 0)
        return str(number) if place.name == "index" else f'"{uuid.uuid4()}"'


def rows_of(path: Path, count: int, *, copy: int = 0, copies: int = 1) -> Sequence[Exchange]:
    """One request for each row of a file, whose values are whole bodies; those of one copy."""
    from benchwright.worker.endpoints.data_files import read_rows

    found, size = [], 0
    for number, row in enumerate(islice(read_rows(path), count * copies)):
        if number % copies != copy:
            continue
        text = row.value if isinstance(row.value, str) else json.dumps(row.value)
        size += len(text)
        if size > MOST_BODY * 8:
            raise RequestError(f"{path}: more than {MOST_BODY * 8 >> 20} MiB of bodies", remedy="send fewer of them")
        found.append(Exchange(messages=((WHOLE, text),), session=number))
    if not found:
        raise RequestError(f"{path}: it holds no body for copy {copy}", remedy="write one JSON value on each line")
    return found


def content_type(options: Mapping[str, Scalar]) -> str:
    """The type that a header names; "" where none does."""
    named = (str(value) for name, value in options.items() if name.lower() == f"{HEADER_OPTION}content-type")
    return next(named, "").lower()


def _draw_arrays(body: Body, case: Case) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The arrays that are filled in as texts, and their types and shapes; both by name."""
    names, inputs = body.input_names(), case.inputs
    if not names:
        if inputs.shapes or inputs.values or inputs.dtypes or inputs.source != "random":
            raise RequestError(
                "arrays are described, and the body has no place for them",
                remedy="write {input} or {input:NAME} into --body where they belong",
            )
        return {}, {}
    from benchwright.worker.endpoints.arrays import draw_arrays
    from benchwright.worker.endpoints.kserve.tensors import datatype_of, to_numbers
    from benchwright.worker.runtimes.inputs.feeds import requested_inputs

    known = {*inputs.shapes, *inputs.values, *inputs.files}
    unknown = [name for name in names if inputs.source == "random" and not known & {name, ""}]
    if unknown:
        raise RequestError(
            f"--body: nobody says how large {{input:{unknown[0]}}} is",
            remedy=f"add --shape {unknown[0]}:1x4, a number with --value {unknown[0]}=1, or arrays with --input FILE",
        )
    drawn = draw_arrays(requested_inputs("the body", dict.fromkeys(names, True), inputs), inputs)
    texts = {
        name: [json.dumps(to_numbers(feed[name], datatype_of(feed[name]), nested=True)) for feed in drawn]
        for name in names
    }
    first = drawn[0]
    return texts, {name: f"{first[name].dtype}[{'x'.join(map(str, first[name].shape))}]" for name in names}


def _draw_pictures(template: BodyTemplate, case: Case) -> dict[str, list[str]]:
    texts = [place.argument for place in template.places if place.name == "image"]
    count, seed = max(1, case.inputs.count), case.inputs.seed
    return {text: [_encode_image(text, seed, number) for number in range(count)] for text in texts}


def _encode_image(size: str, seed: int, number: int) -> str:
    """An image in base 64, as JSON writes it."""
    width, height = image_size(size)
    return f'"{base64.b64encode(make_png(width, height, seed=seed, number=number)).decode()}"'


def _read_file(path: Path) -> bytes:
    try:
        return streams.read_file(path, most=MOST_BODY)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"--body @{path}: {why}", remedy="name a file that can be read") from None


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise RequestError(
            f"--body @{name}: the file is not text", remedy="say what it is: --header 'Content-Type: image/jpeg'"
        ) from None

"""Any route that takes a request with a body: TF Serving, TorchServe, SageMaker, BentoML, LitServe, Ray Serve."""

from __future__ import annotations

from typing import ClassVar

from benchwright.errors import RequestError
from benchwright.records import Case, Target, Value
from benchwright.worker.runtimes import Loaded
from benchwright.worker.runtimes.options import boolean, choice

OPTIONS = frozenset({"answer", "body", "method", "stream"})
PROMPTS = frozenset({"data", "input_tokens", "output_tokens", "shared_prefix", "tokenizer"})


class HttpPost:
    """`http://host:8501/v1/models/M:predict`, `/predictions/M`, `/invocations`, any other."""

    name: ClassVar[str] = "http"
    extensions: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[str] = "benchwright[endpoints]"
    module: ClassVar[str] = "httptools"
    parameters: ClassVar[frozenset[str]] = OPTIONS | PROMPTS  # whatever may differ from case to case

    @staticmethod
    def check(target: Target) -> None:
        """Refuses what is wrong with the address, the options, the body or the path to the answer."""
        from benchwright.worker.endpoints.option_names import check_options
        from benchwright.worker.endpoints.plain.answer_paths import parse_path
        from benchwright.worker.endpoints.plain.bodies import METHODS, Body

        check_options(target, OPTIONS | PROMPTS)
        options = target.options
        choice(options, "method", METHODS[0], METHODS)
        boolean(options, "stream", False)
        if "answer" in options:
            parse_path(str(options["answer"]))
        template = Body(options).template
        if "data" in options and "body" in options and not template.has("prompt"):
            raise RequestError(
                "--data: the body has no place for what the file holds",
                remedy="write {prompt} into --body; or leave it out, then each row of the file is a body",
            )
        lengths = [name for name in ("input_tokens", "shared_prefix") if name in options]
        if lengths and not template.has("prompt"):
            raise RequestError(
                f"--{lengths[0].replace('_', '-')}: the body has no prompt", remedy="write {prompt} into --body"
            )

    def load(self, case: Case) -> Loaded:
        from benchwright.worker.endpoints.endpoint import load_endpoint
        from benchwright.worker.endpoints.plain.answer_paths import parse_path
        from benchwright.worker.endpoints.plain.bodies import Body, BodyWriter
        from benchwright.worker.endpoints.plain.dialect import BodyMaker, PlainDialect
        from benchwright.worker.endpoints.plain.templates import UNIQUE
        from benchwright.worker.endpoints.prompt_maker import PromptMaker
        from benchwright.worker.endpoints.settings import read_prompts

        self.check(case.target)
        options = case.target.options
        body = Body(options)
        writer = BodyWriter(body, case)
        has_prompt = body.template.has("prompt")
        path = parse_path(str(options["answer"])) if "answer" in options else ()
        maker = BodyMaker(
            writer,
            prompts=PromptMaker(read_prompts(case, case.inputs.seed)) if has_prompt else None,
            rows="" if has_prompt else str(options.get("data", "")),
            is_unique=body.template.has(*UNIQUE),
        )
        dialect = PlainDialect(writer, path, streams=boolean(options, "stream", False))
        loaded = load_endpoint(case, dialect, make=maker)
        inputs: dict[str, Value] = {"inputs": dict(writer.shapes)} if writer.shapes else {}
        loaded.details = {**loaded.details, "distinct_inputs": writer.distinct, **inputs}
        loaded.drawn = case.inputs.source == "random" and bool(writer.shapes)
        return loaded

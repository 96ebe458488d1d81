"""Conversations in the rows of a data set: the forms that people keep prompts in, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchwright.errors import did_you_mean
from benchwright.worker.endpoints.data_files import DataRow, check_text, length_of, text_of
from benchwright.worker.endpoints.exchange_records import Messages
from benchwright.worker.endpoints.lengths import LONGEST

PROMPTS = ("prompt", "text", "input", "question")  # keys, or columns, of a plain prompt
HOLDERS = ("body", "conversations", "conversation", "messages", *PROMPTS)
INPUT_LENGTHS = ("input_tokens", "input_length")
OUTPUT_LENGTHS = ("output_tokens", "max_tokens", "max_completion_tokens", "max_output_tokens", "output_length")
MOST_MESSAGES = 10_000
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_SPEAKERS = {  # ShareGPT's words for roles
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
    "tool": "tool",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What one row asks: messages to their end, and what the row says of lengths."""

    messages: Messages
    is_dialogue: bool = False  # its questions were asked one after the other
    input_tokens: int | None = None
    output_tokens: int | None = None
    body: Mapping[str, Any] | None = None

    @property
    def questions(self) -> list[int]:
        """The places of the messages that users wrote."""
        return [place for place, (role, _) in enumerate(self.messages) if role == "user"]

    def answer_to(self, question: int) -> str | None:
        """What was answered to the question at that place, as far as the row knows."""
        answer = self.messages[question + 1 : question + 2]
        return answer[0][1] if answer and answer[0][0] == "assistant" else None


def read_conversation(row: DataRow, column: str = "") -> Conversation | None:
    """The conversation of a row; None where it asks nothing: no question in it, or an empty one."""
    value = row.value
    if isinstance(value, str):
        check_text(row, value)
        return _ask(value)
    if not isinstance(value, Mapping):
        raise row.refuse("it is no mapping and no text")
    found = _read_mapping(row, value, column)
    stated = value["body"] if found and "body" in value and not column else value
    return found and replace(
        found,
        input_tokens=length_of(row, stated, INPUT_LENGTHS, most=LONGEST),
        output_tokens=length_of(row, stated, OUTPUT_LENGTHS, most=LONGEST),
    )


def _read_mapping(row: DataRow, value: Mapping[str, Any], column: str) -> Conversation | None:
    if column:
        if column not in value:
            raise row.refuse(f"there is no {column[:60]!r} in it", did_you_mean(column, map(str, value))[:200])
        return _ask(text_of(row, value, column))
    if "body" in value:
        return _read_body(row, value["body"])
    if "conversations" in value or "conversation" in value:
        return _read_dialogue(row, value.get("conversations", value.get("conversation")))
    if "messages" in value or isinstance(value.get("prompt"), list):
        return _read_messages(row, value.get("messages", value.get("prompt")))
    if key := next((key for key in PROMPTS if key in value), ""):
        return _ask(text_of(row, value, key))
    found = ", ".join(sorted(map(str, value))[:8])[:200] or "nothing"
    raise row.refuse(f"no prompt in it, but {found}", f"known: {', '.join(HOLDERS)}; name a column with FILE::COLUMN")


def _ask(text: str) -> Conversation | None:
    return Conversation(messages=(("user", text),)) if text.strip() else None


def _read_dialogue(row: DataRow, said: Any) -> Conversation | None:
    """ShareGPT's form. What was said before the first question, but for a system's message, has no question."""
    messages: list[tuple[str, str]] = []
    for each in _list_of(row, said, "conversations"):
        speaker = each.get("from", each.get("role"))
        role = _SPEAKERS.get(speaker.lower()) if isinstance(speaker, str) else None
        if role is None:
            raise row.refuse(f"{str(speaker)[:40]!r} is nobody who speaks", f"known: {', '.join(_SPEAKERS)}")
        text = text_of(row, each, "value" if "value" in each else "content")
        if messages or role in ("user", "system"):
            messages.append((role, text))
    return _whole(Conversation(messages=tuple(messages), is_dialogue=True))


def _read_messages(row: DataRow, given: Any) -> Conversation | None:
    """OpenAI's form. What `messages` of an exchange cannot say, images or calls of tools, stays in a body."""
    listed = _list_of(row, given, "messages")
    messages = tuple((_role(row, each), _content(row, each.get("content"))) for each in listed)
    is_plain = all(each.keys() == {"role", "content"} and isinstance(each["content"], str) for each in listed)
    if is_plain:
        return _whole(Conversation(messages=messages))
    _check_values(row, listed)
    return Conversation(messages=messages, body={"messages": listed}) if messages else None


def _read_body(row: DataRow, body: Any) -> Conversation | None:
    """A line of OpenAI's batch form: the body of a request, which is sent as it is."""
    if not isinstance(body, Mapping):
        raise row.refuse("'body' is no mapping")
    _check_values(row, body)
    messages: Messages = ()
    if "messages" in body:
        listed = _list_of(row, body["messages"], "messages")
        messages = tuple((_role(row, each), _content(row, each.get("content"))) for each in listed)
    else:
        texts = [body[key] for key in ("prompt", "input") if isinstance(body.get(key), str)]
        messages = tuple(("user", text) for text in texts)
    return Conversation(messages=messages, body=body)


def _whole(conversation: Conversation) -> Conversation | None:
    asked = conversation.questions
    return conversation if asked and conversation.messages[asked[0]][1].strip() else None


def _list_of(row: DataRow, given: Any, name: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise row.refuse(f"{name!r} is no list of mappings")
    if len(given) > MOST_MESSAGES:
        raise row.refuse(f"{name!r} has more than {MOST_MESSAGES:,} messages")
    return given


def _role(row: DataRow, message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if role not in _ROLES:
        raise row.refuse(f"{str(role)[:40]!r} is no role", f"known: {', '.join(_ROLES)}")
    return str(role)


def _content(row: DataRow, content: Any) -> str:
    """The text of a message: the whole, or that of its parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise row.refuse("'content' is no text and no list of parts")
    check_text(row, content)
    return content


def _check_values(row: DataRow, value: Any) -> None:
    check_text(row, json.dumps(value, ensure_ascii=False))

"""Text that a model, a program or a suite wrote, made safe for where it is printed."""

from __future__ import annotations

import re

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC: title, clipboard, links
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb]"
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]#!|<>~$&])")
_MENTION = re.compile(r"@(?=[A-Za-z0-9])")
_REFERENCE = re.compile(r"#(?=\d)")
_SCHEME = re.compile(r"(?i)\b(https?|ftp|mailto|www)(?=[:.])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_JOINER = "\u2060"


def plain(text: str) -> str:
    """Keeps line breaks and tabs; escape sequences, control characters and writing-direction overrides are gone.

    What is left cannot move a cursor, set a title, write a clipboard, open a link or reorder what is read.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub("", _SEQUENCES.sub("", text))


def line(text: str, limit: int | None = None) -> str:
    """`plain`, on one line; cut to `limit` characters with an ellipsis."""
    flat = " ".join(plain(text).split())
    if limit is not None and len(flat) > limit:
        return flat[: max(1, limit - 1)].rstrip() + "…"
    return flat


def clip(text: str, limit: int) -> str:
    """`plain`, keeping head and tail when longer than `limit` characters, with the number left out between them."""
    text = plain(text)
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n… {len(text) - head - tail:,} characters left out …\n{text[-tail:]}"


def markdown(text: str, limit: int | None = None) -> str:
    """One line of Markdown that shows the text as it is: no markup, image, link, @mention or issue reference comes alive."""
    flat = line(text, limit)
    flat = _SCHEME.sub(lambda found: found[0] + _JOINER, flat)
    flat = _REFERENCE.sub("#" + _JOINER, _MENTION.sub("@" + _JOINER, flat))
    escaped = _MARKDOWN.sub(r"\\\1", flat)
    return escaped.replace("::", f":{_JOINER}:")


def fence(text: str, limit: int = 4000) -> str:
    """A Markdown code block whose fence is longer than any in the text; workflow commands of CI systems are broken up."""
    body = clip(text, limit).replace("::", f":{_JOINER}:").replace("##[", f"##{_JOINER}[")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}text\n{body}\n{mark}"


def csv_cell(value: object) -> object:
    """A value that no spreadsheet takes for a formula: text beginning like one gets an apostrophe, numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = _CONTROLS.sub("", _SEQUENCES.sub("", value.replace("\r\n", "\n").replace("\r", "\n")))
    if text.lstrip(" \u00a0").startswith(_FORMULA) and not _NUMBER.match(text):
        return "'" + text
    return text


def xml(text: str) -> str:
    """Text that XML 1.0 can hold, escape sequences gone."""
    return "".join(char for char in plain(text) if char not in "\ufffe\uffff")


def line_keeping(text: str, limit: int | None = None) -> str:
    """`line` for a piece of a sentence: the space it begins with stays."""
    return (" " if text[:1] == " " else "") + line(text, limit)

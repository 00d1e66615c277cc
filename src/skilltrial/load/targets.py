"""What stands after `--target`: a backend's name, and up to the first colon no more than that."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import PurePosixPath, PureWindowsPath
from typing import NamedTuple

from skilltrial import registry
from skilltrial.errors import UsageError
from skilltrial.records.config import TargetConfig

BACKENDS = (
    "claude-code", "codex", "opencode", "gemini", "qwen", "copilot", "pi", "agy",
    "openai", "anthropic", "adapter", "runner", "local", "manual", "fake",
)  # fmt: skip
"""Names of the backends we ship or will ship, in the order help shows them."""
ALIASES = {"claude": "claude-code"}
TAKE_A_PATH = frozenset({"adapter", "runner", "local", "fake", "manual"})
"""Backends whose value names a file or folder."""
NAME_LENGTH = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Parsed(NamedTuple):
    """A target as given, and the sentence to say once when it named no backend."""

    target: TargetConfig
    note: str | None


def parse_target(text: str) -> Parsed:
    """A target from `BACKEND[:VALUE]`; the value is taken verbatim, further colons included.

    A head that is no backend makes the whole text a model of `openai`, with a note.

    Raises:
        UsageError: the text is empty, or nothing stands after the colon.
    """
    text = text.strip()
    if not text:
        raise UsageError(
            "an empty target", "write a backend, as 'claude-code', or a backend and a model, as 'openai:gpt-4o-mini'"
        )
    head, colon, value = text.partition(":")
    backend = ALIASES.get(head, head)
    if not is_backend(backend):
        return Parsed(TargetConfig(backend="openai", model=text), _note(head, text))
    if colon and not value:
        raise UsageError(f"target '{text}': nothing stands after the colon", f"write '{backend}' or '{backend}:VALUE'")
    return Parsed(TargetConfig(backend=backend, model=value or None), None)


def is_backend(name: str) -> bool:
    """Whether `name` is a backend of ours or an installed one; an alias is not."""
    return name in BACKENDS or name in registry.names("backends")


def name_of(target: TargetConfig) -> str:
    """A path-safe name for a target: its own, or backend and value. Of a path only the file's stem is used."""
    if target.name is not None:
        return target.name
    value = _without_place(target)
    slug = _UNSAFE.sub("-", f"{target.backend}-{value}" if value else target.backend).strip("-.")
    return slug[:NAME_LENGTH].rstrip("-.")


def looks_like_path(value: str) -> bool:
    """A value with a separator at its start, or a drive letter: a place on this machine rather than a model."""
    return value.startswith(("/", "./", "../", "~", "\\", ".\\", "..\\")) or bool(re.match(r"[A-Za-z]:[\\/]", value))


def _without_place(target: TargetConfig) -> str:
    value = target.model or ""
    if target.backend in TAKE_A_PATH or looks_like_path(value):
        path = PureWindowsPath(value) if "\\" in value else PurePosixPath(value)
        return path.stem
    return value


def _note(head: str, text: str) -> str:
    close = get_close_matches(head, [*BACKENDS, *ALIASES], 1, 0.8)
    meant = f" (if you meant the backend '{close[0]}', write it so)" if close else ""
    return f"'{head}' is no backend, so '{text}' is taken as openai:{text}{meant}"

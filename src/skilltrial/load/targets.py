"""What stands after `--target`: a backend's name, and up to the first colon no more than that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class Spoken(NamedTuple):
    """Targets as given, and what has to be said about how they were understood."""

    targets: tuple[TargetConfig, ...]
    notes: tuple[str, ...]


def parse_target(text: str) -> TargetConfig:
    """A target from `BACKEND[:VALUE]`; the value is taken verbatim, further colons included.

    A head that is no backend makes the whole text a value of `openai`; `note_about` says so.

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
    if not _is_backend(backend):
        return TargetConfig(backend="openai", model=text)
    if colon and not value:
        raise UsageError(f"target '{text}': nothing stands after the colon", f"write '{backend}' or '{backend}:VALUE'")
    return TargetConfig(backend=backend, model=value or None)


def parse_targets(texts: Iterable[str], *, comma: bool = False) -> Spoken:
    """Several targets and each note once. `comma` splits lists (`--runners a,b`), which `--target` never does."""
    parts = [part for text in texts for part in (text.split(",") if comma else [text]) if part.strip() or not comma]
    notes = (note_about(part) for part in parts)
    return Spoken(tuple(parse_target(part) for part in parts), tuple(dict.fromkeys(note for note in notes if note)))


def note_about(text: str) -> str | None:
    """The sentence to say once when `text` names no backend and is taken for a model of an OpenAI-compatible endpoint."""
    text = text.strip()
    head = text.partition(":")[0]
    if not text or _is_backend(ALIASES.get(head, head)):
        return None
    close = get_close_matches(head, [*BACKENDS, *ALIASES], 1, 0.8)
    meant = f" (for the backend '{close[0]}', write it so)" if close else ""
    return f"'{head}' is no backend, so '{text}' is taken as openai:{text}{meant}"


def name_of(target: TargetConfig) -> str:
    """A path-safe name for a target: its own, or backend and value. Of a path only the file's stem is used."""
    if target.name is not None:
        if not _NAME.fullmatch(target.name):
            raise UsageError(
                f"target name '{target.name}' is not safe in a path", "use letters, digits, '.', '_' and '-', at most 100"
            )
        return target.name
    value = _without_place(target)
    slug = _UNSAFE.sub("-", f"{target.backend}-{value}" if value else target.backend).strip("-.")
    return slug[:NAME_LENGTH].rstrip("-.")


def names_of(targets: Sequence[TargetConfig]) -> tuple[str, ...]:
    """One unique name per target in order, told apart by -2, -3, … also where a file system ignores case.

    Raises:
        UsageError: two targets were given the same name by hand.
    """
    names: list[str] = []
    taken = {target.name.casefold() for target in targets if target.name}
    if len(taken) < sum(1 for target in targets if target.name):
        raise UsageError("two targets have the same name", "give each of them a 'name' of its own")
    for target in targets:
        name = first = name_of(target)
        number = 2
        while target.name is None and name.casefold() in taken:
            tail = f"-{number}"
            name, number = first[: NAME_LENGTH - len(tail)] + tail, number + 1
        taken.add(name.casefold())
        names.append(name)
    return tuple(names)


def looks_like_path(value: str) -> bool:
    """A value with a separator at its start, or a drive letter: a place on this machine rather than a model."""
    return value.startswith(("/", "./", "../", "~", "\\", ".\\", "..\\")) or bool(re.match(r"[A-Za-z]:[\\/]", value))


def _without_place(target: TargetConfig) -> str:
    value = target.model or ""
    if target.backend in TAKE_A_PATH or looks_like_path(value):
        path = PureWindowsPath(value) if "\\" in value else PurePosixPath(value)
        return path.stem
    return value


def _is_backend(name: str) -> bool:
    return name in BACKENDS or name in registry.names("backends")

"""YAML as users write it, read into JSON-safe data: one pass over the parser's events, so nothing recurses.

Anchors, aliases, tags that build objects, duplicate keys, infinities and great depth are refused with their place.
Dates stay the text they were written as.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import ScalarNode

from skilltrial.load.document import Document, Fault, Pointer, Spot

FRONTMATTER_CAP = 256_000
SUITE_CAP = 4_000_000
"""Bytes."""
DEPTH_CAP = 64
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX = "tag:yaml.org,2002:"
_PLAIN_COLLECTIONS = (None, "!", _PREFIX + "map", _PREFIX + "seq", _PREFIX + "set", _PREFIX + "omap")
_PLAIN = re.compile(r"(?:[A-Za-z][\w-]{0,60}: [A-Za-z](?:[\w ,.;()/'\"?!-]*[\w,.;()/'\"?!-])?(?:\n|\Z))+", re.ASCII)
"""Lines of `key: words` with nothing in them that YAML could read otherwise."""
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_WORDS = frozenset({*_BOOLEANS, "null"})


class _FatalError(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


class _Frame:
    """A list or map under construction."""

    __slots__ = ("key", "made", "pointer", "waiting")

    def __init__(self, made: dict[str, Any] | list[Any], pointer: Pointer) -> None:
        self.made = made
        self.pointer = pointer
        self.key: str | None = None
        self.waiting = False
        """True: the next value belongs to `key`."""


def parse(text: str, first_line: int = 1) -> Document:
    """One YAML document as plain data; `first_line` is where the text starts in its file."""
    try:
        plain = _plain(text)
        value, faults, _ = (plain, [], None) if plain is not None else _build(text, first_line, places=False)
    except _FatalError as error:
        return Document(None, (error.fault,), broken=True)

    def locate(pointer: Pointer) -> Spot | None:
        return _build(text, first_line, places=True)[2].get(pointer)

    return Document(value, tuple(faults), locate=locate)


def _plain(text: str) -> dict[str, Any] | None:
    """The mapping, when the text is so plain that no parser is needed; None otherwise. Most frontmatter is."""
    if not _PLAIN.fullmatch(text):
        return None
    lines = text.rstrip("\n").split("\n")
    made: dict[str, Any] = dict(line.split(": ", 1) for line in lines)
    if len(made) != len(lines) or any(value.lower() in _WORDS for value in made.values()):
        return None
    return made


def _build(text: str, first_line: int, places: bool) -> tuple[Any, list[Fault], dict[Pointer, Spot]]:
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise _FatalError(_fault(error, first_line)) from None
    try:
        return _read(loader, first_line, places)
    except yaml.YAMLError as error:
        raise _FatalError(_fault(error, first_line)) from None
    except RecursionError:
        raise _FatalError(Fault("too-deep", f"nested deeper than {DEPTH_CAP} levels", None)) from None
    finally:
        loader.dispose()


def _read(loader: Any, first_line: int, places: bool) -> tuple[Any, list[Fault], dict[Pointer, Spot]]:
    stack: list[_Frame] = []
    faults: list[Fault] = []
    spots: dict[Pointer, Spot] = {}
    root: Any = None
    documents = 0
    while True:
        event = loader.get_event()
        kind = type(event)
        if kind is yaml.StreamEndEvent:
            return root, faults, spots
        if kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1:
                raise _FatalError(Fault("several-documents", "a second YAML document starts here", _spot(event, first_line)))
        if kind is yaml.AliasEvent or getattr(event, "anchor", None):
            name = "an alias" if kind is yaml.AliasEvent else "an anchor"
            raise _FatalError(
                Fault(
                    "yaml-alias",
                    f"{name} ('{event.anchor}'); aliases and anchors are refused",
                    _spot(event, first_line),
                    "write the value out, or quote it",
                )
            )
        if kind is yaml.ScalarEvent:
            frame = stack[-1] if stack else None
            if frame is not None and isinstance(frame.made, dict) and not frame.waiting:
                frame.key = event.value
                frame.waiting = True
                if frame.key in frame.made:
                    faults.append(
                        Fault(
                            "duplicate-key",
                            f"the key '{frame.key}' is given twice",
                            _spot(event, first_line),
                            "keep one of them",
                            (*frame.pointer, frame.key),
                        )
                    )
                continue
            value = _scalar(loader, event, first_line)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if len(stack) >= DEPTH_CAP:
                raise _FatalError(Fault("too-deep", f"nested deeper than {DEPTH_CAP} levels", _spot(event, first_line)))
            if event.tag not in _PLAIN_COLLECTIONS:
                raise _FatalError(_tag_fault(event.tag, event, first_line))
            value = {} if kind is yaml.MappingStartEvent else []
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            continue
        else:
            continue
        pointer: Pointer = ()
        if stack:
            pointer = _place(stack[-1], value, event, first_line)
        else:
            root = value
        if places:
            spots[pointer] = _spot(event, first_line)
        if isinstance(value, (dict, list)):
            stack.append(_Frame(value, pointer))


def _place(frame: _Frame, value: Any, event: Any, first_line: int) -> Pointer:
    if isinstance(frame.made, list):
        frame.made.append(value)
        return (*frame.pointer, len(frame.made) - 1)
    if not frame.waiting or frame.key is None:
        raise _FatalError(Fault("yaml-key", "a list or map is used as a key", _spot(event, first_line)))
    frame.made[frame.key] = value
    frame.waiting = False
    return (*frame.pointer, frame.key)


def _scalar(loader: Any, event: Any, first_line: int) -> Any:
    text: str = event.value
    tag = event.tag
    if tag is None or tag == "!":
        if not event.implicit[0]:
            return text
        tag = loader.resolve(ScalarNode, text, event.implicit)
    kind = tag.removeprefix(_PREFIX)
    if kind in ("str", "timestamp", "value", "merge", "binary"):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return _BOOLEANS.get(text.lower(), text)
    if kind in ("int", "float"):
        return _number(loader, text, tag, event, first_line)
    raise _FatalError(
        Fault("yaml-tag", f"the tag {tag} is refused", _spot(event, first_line), "write plain text, numbers, lists and maps")
    )


def _number(loader: Any, text: str, tag: str, event: Any, first_line: int) -> Any:
    if ":" in text:  # YAML 1.1 would read 1:30 as 90
        return text
    node = ScalarNode(tag, text)
    try:
        number = loader.construct_yaml_int(node) if tag.endswith("int") else loader.construct_yaml_float(node)
    except (ValueError, ConstructorError, OverflowError, IndexError):
        return text
    if number - number != 0:
        raise _FatalError(Fault("not-finite", f"{text} is not a number that JSON can hold", _spot(event, first_line)))
    return number


def _tag_fault(tag: str, event: Any, first_line: int) -> Fault:
    return Fault("yaml-tag", f"the tag {tag} is refused", _spot(event, first_line), "write plain text, numbers, lists and maps")


def _spot(event: Any, first_line: int) -> Spot:
    return Spot(event.start_mark.line + first_line, event.start_mark.column + 1)


def _fault(error: yaml.YAMLError, first_line: int) -> Fault:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    spot = Spot(mark.line + first_line, mark.column + 1) if mark else None
    return Fault("invalid-yaml", f"not valid YAML: {said}", spot)

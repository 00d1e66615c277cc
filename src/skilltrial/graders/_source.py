"""What a check looks at: the final text, or a file as the run left it."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from skilltrial.graders._verdict import Scene, Verdict
from skilltrial.records.suite import FileRef, Stage, landing

READ_BYTES = 4_000_000
"""Of a file, at most; what is not found in a longer one is not known to be absent."""
_STAGES: tuple[Stage, ...] = ("flat", "keep", "inputs")


class Source(NamedTuple):
    """A text to look into."""

    text: str
    label: str
    """How a reason calls it: `the final text`, or the quoted path."""
    masked: bool
    cut: bool = False
    """Only the first READ_BYTES were read."""


def source(path: str | None, scene: Scene) -> Source | Verdict:
    """The text at `path`, or the final text; a Verdict when there is none to look at: `failed` for a missing file."""
    view = scene.view
    if path is None:
        return Source(view.record.text, "the final text", view.masked(None))
    spot = clean(path)
    if isinstance(spot, Verdict):
        return spot
    delta = view.record.delta
    if delta is None:
        return Verdict.ungraded(f"this run had no folder to look for '{spot}' in")
    data = view.read(spot, READ_BYTES)
    if data is None and (elsewhere := next((lies for lies, said in called(scene).items() if said == spot), None)):
        spot, data = elsewhere, view.read(elsewhere, READ_BYTES)
    if data is not None:
        text = data.decode("utf-8-sig", "replace")
        return Source(text, f"'{spot}'", view.masked(spot), cut=len(data) >= READ_BYTES)
    if delta.truncated:
        return Verdict.ungraded(f"'{spot}' was not seen, and the list of files was cut at a cap")
    return Verdict.failed(f"there is no file '{spot}' after the run")


def sources(path: str | None, scene: Scene, *, made: bool = False) -> list[Source] | Verdict:
    """As `source`, for a path that may be a form with wildcards: every file there is of that form.

    Args:
        made: the files that the run created or changed, and no path.
    """
    if not made and (path is None or not has_wildcards(path)):
        one = source(path, scene)
        return one if isinstance(one, Verdict) else [one]
    delta = scene.view.record.delta
    if delta is None:
        return Verdict.ungraded("this run had no folder to look for files in")
    left = {file.path for file in (*delta.created, *delta.changed)}
    if not made:
        said = called(scene)
        names = left | fixtures(scene).keys() - set(delta.deleted)
        left = {name for name in names if any(fits_form(word, path or "") for word in {name, said.get(name, name)})}
    found = [source(name, scene) for name in sorted(left)]
    seen = [one for one in found if isinstance(one, Source)]
    if seen:
        return seen
    what = "the run made no file" if made else f"there is no file like '{path}' after the run"
    return Verdict.ungraded(f"{what}, but the list of files was cut at a cap") if delta.truncated else Verdict.failed(what)


def mock_calls(scene: Scene) -> Source | Verdict:
    """What stand-in MCP servers answered, one line of JSON a call; a Verdict where none was started."""
    if not scene.case.mocks:
        return Verdict.ungraded("the case has no stand-in MCP server whose calls could be looked at")
    lines = []
    for event in scene.view.record.events or ():
        if event.kind == "mock_call":
            told = {"tool": event.name, "input": event.arguments, "output": event.text, **({} if event.ok else {"isError": True})}
            lines.append(json.dumps(told, ensure_ascii=False))
    return Source("\n".join(lines), "the calls of stand-in servers", scene.view.masked(None))


def has_wildcards(path: str) -> bool:
    """Whether a path stands for several files."""
    return "*" in path or "?" in path


def fits_form(path: str, form: str) -> bool:
    """`*` is anything but '/', `**` anything, `?` one character but '/'; a form without '/' fits at the top only."""
    return _form(form.removeprefix("./")).fullmatch(path) is not None


@lru_cache(maxsize=512)
def _form(form: str) -> re.Pattern[str]:
    said = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(said.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", form)), re.DOTALL)


def clean(path: str) -> str | Verdict:
    """The path as manifests spell it; a Verdict for one that leaves the workspace."""
    spot = PurePosixPath(path.replace("\\", "/") if "/" not in path else path)
    if spot.is_absolute() or ".." in spot.parts or not spot.parts:
        return Verdict.ungraded(f"'{path}' is no path inside the workspace")
    return str(spot)


def called(scene: Scene) -> dict[str, str]:
    """Fixtures that lie elsewhere than the suite says, since the target has places of its own: where they lie -> the suite's name.

    A check may name them either way, so that one suite holds for an agent program and for an adapter.
    """
    found = {}
    for file in scene.case.fixtures.files:
        said = landing(file.path, scene.case.stage)
        if scene.view.fixture(said) is None:
            lies = next((spot for stage in _STAGES if scene.view.fixture(spot := landing(file.path, stage))), None)
            if lies is not None:
                found[lies] = said
    return found


def fixtures(scene: Scene) -> dict[str, FileRef]:
    """Delivered files by the path where they landed, and those of the source repository that checks look at."""
    delta = scene.view.record.delta
    found = {file.path: file for file in delta.given} if delta is not None else {}
    for file in scene.case.fixtures.files:
        for stage in _STAGES:
            spot = landing(file.path, stage)
            ref = scene.view.fixture(spot)
            if ref is not None:
                found[spot] = ref
    return found

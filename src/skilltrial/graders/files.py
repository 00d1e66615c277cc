"""Checks on the files that a run left behind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar

from skilltrial.graders._source import called, clean, fits_form, fixtures, has_wildcards, sources
from skilltrial.graders._verdict import ByType, Scene, Verdict
from skilltrial.graders.text import any_of, holds
from skilltrial.records.checks import FileText, OnlyChanged, PathOnly
from skilltrial.records.evidence import Delta

_AS_LAID: Mapping[str, str] = MappingProxyType({})
_CUT = "the list of files was cut at a cap, so absence proves nothing"
NOTHING = "'{}' is no fixture of this case, so there is nothing to compare it with"
"""Why `file_unchanged` has no verdict on a path."""


def _looked_up(path: str, scene: Scene) -> tuple[str, Delta] | Verdict:
    spot = clean(path)
    if isinstance(spot, Verdict):
        return spot
    delta = scene.view.record.delta
    if delta is None:
        return Verdict.ungraded(f"this run had no folder to look for '{spot}' in")
    return spot, delta


def _fits(path: str, spot: str, options: PathOnly, folders: bool, said: Mapping[str, str] = _AS_LAID) -> bool:
    """Whether `path` is the file meant, or one in the folder meant; with `anywhere`, in whatever folder that lies.

    `said`: what the suite calls files that lie elsewhere than it says.
    """
    if path in said and _fits(said[path], spot, options, folders):
        return True
    if has_wildcards(spot):
        return fits_form(path, f"**/{spot}" if options.anywhere else spot)
    if options.anywhere:
        path, spot = f"/{path}", f"/{spot}"
        return path.endswith(spot) or (folders and f"{spot}/" in path)
    return path == spot or (folders and path.startswith(f"{spot}/"))


def file_exists(options: PathOnly, scene: Scene) -> Verdict:
    """Passed for a file that the run created or changed; a path ending in `/` asks for a folder with such a file."""
    found = _looked_up(options.path, scene)
    if isinstance(found, Verdict):
        return found
    spot, delta = found
    said = called(scene)
    for word, files in (("created", delta.created), ("changed", delta.changed)):
        for file in files:
            if _fits(file.path, spot, options, options.path.endswith("/"), said):
                return Verdict.passed(f"the run {word} '{file.path}'", f"{file.path} ({file.size:,} bytes)")
    return Verdict.ungraded(f"'{spot}': {_CUT}") if delta.truncated else Verdict.failed(_absence(spot, delta, scene))


def _absence(spot: str, delta: Delta, scene: Scene) -> str:
    """Why the file does not count as created, with the nearest thing there is."""
    if spot in delta.deleted:
        return f"the run deleted '{spot}'"
    if scene.view.fixture(spot) is not None:
        return f"'{spot}' is a fixture that the run left as it was"
    left = [file.path for file in (*delta.created, *delta.changed)]
    if any(path.startswith(f"{spot}/") for path in left):
        return f"'{spot}' is a folder, not a file (end the path with '/' to ask for a folder)"
    name = spot.rsplit("/", 1)[-1].casefold()
    near = next((path for path in left if path.rsplit("/", 1)[-1].casefold() == name), None)
    return f"the run made no file '{spot}'" + (f"; there is '{near}'" if near else "")


def file_not_exists(options: PathOnly, scene: Scene) -> Verdict:
    """Passed when neither a file nor a folder of that name is there after the run, whoever made it."""
    found = _looked_up(options.path, scene)
    if isinstance(found, Verdict):
        return found
    spot, delta = found
    left = {file.path for file in (*delta.created, *delta.changed)} | fixtures(scene).keys()
    said = called(scene)
    there = next((path for path in sorted(left - set(delta.deleted)) if _fits(path, spot, options, True, said)), None)
    if there:
        return Verdict.failed(f"'{there}' is there after the run", there)
    if delta.truncated:
        return Verdict.ungraded(f"'{spot}': {_CUT}")
    return Verdict.passed(f"there is no '{spot}' after the run")


def file_unchanged(options: PathOnly, scene: Scene) -> Verdict:
    """Passed when a fixture is what it was; a path that is no fixture has nothing to be compared with."""
    found = _looked_up(options.path, scene)
    if isinstance(found, Verdict):
        return found
    spot, delta = found
    meant = set(compared(options, fixtures(scene), called(scene)))
    if not meant:
        return Verdict.ungraded(NOTHING.format(spot))
    for word, paths in (("deleted", delta.deleted), ("changed", [file.path for file in (*delta.changed, *delta.created)])):
        if lost := sorted(meant & set(paths)):
            return Verdict.failed(f"the run {word} '{lost[0]}'", lost[0])
    if delta.truncated:
        return Verdict.ungraded(f"'{spot}': {_CUT}")
    return Verdict.passed(f"'{spot}' is as it was delivered")


def compared(options: PathOnly, given: Iterable[str], said: Mapping[str, str] = _AS_LAID) -> Iterable[str]:
    """Of the files that lie there at the start, those that `file_unchanged` looks at. An unsound path means none."""
    spot = clean(options.path)
    return () if isinstance(spot, Verdict) else (path for path in given if _fits(path, spot, options, True, said))


def only_changed(options: OnlyChanged, scene: Scene) -> Verdict:
    """Passed when the run touched nothing but files of these forms."""
    delta = scene.view.record.delta
    if delta is None:
        return Verdict.ungraded("this run had no folder to change files in")
    touched = sorted({file.path for file in (*delta.created, *delta.changed)} | set(delta.deleted))
    said = called(scene)
    names = ((path, {path, said.get(path, path)}) for path in touched)
    beyond = [path for path, words in names if not any(fits_form(word, form) for word in words for form in options.paths)]
    wanted = ", ".join(options.paths) or "no file at all"
    if beyond:
        files = f"{len(beyond)} file{'s' if len(beyond) != 1 else ''}"
        beside = f" beside {wanted}" if options.paths else ", none was to be touched"
        return Verdict.failed(f"the run touched {files}{beside}", ", ".join(beyond[:10]))
    if delta.truncated:
        return Verdict.ungraded(f"{wanted}: {_CUT}")
    return Verdict.passed(f"the run touched nothing beside {wanted}" if touched else "the run touched no file")


def file_contains(options: FileText, scene: Scene) -> Verdict:
    """Passed when the file, or the final text when no path is given, holds the text; a missing file fails."""
    seen = sources(options.path, scene)
    if isinstance(seen, Verdict):
        return seen
    return any_of([holds(one, options.contains, options.case_sensitive) for one in seen])


def file_not_contains(options: FileText, scene: Scene) -> Verdict:
    """Passed when the file lacks the text. A missing file fails here too: it shows nothing."""
    seen = sources(options.path, scene)
    if isinstance(seen, Verdict):
        return seen._replace(reason=f"{seen.reason} (a missing file fails this check too)") if seen.state == "failed" else seen
    return any_of([holds(one, options.contains, options.case_sensitive) for one in seen]).turned()


class Files(ByType):
    """What was created, changed, deleted or left alone, and what stands in it."""

    rules: ClassVar = {
        "file_exists": file_exists,
        "file_not_exists": file_not_exists,
        "file_unchanged": file_unchanged,
        "only_changed": only_changed,
        "file_contains": file_contains,
        "file_not_contains": file_not_contains,
    }


plugin = Files()

"""What a model behind HTTP is given in place of a folder: the skill as a system message, the files within the user message.

With the skill: its name, description and instructions, the markdown below `references/`, and everything else as a list of
paths and sizes. Without it: nothing of this, not even the message. Fixtures are the same text in both arms.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from skilltrial.records.suite import FileRef, Skill, Tree, landing
from skilltrial.seams import Blobs, Job

FILE_BYTES = 64 * 1024
"""Most that is shown of one file."""
TOTAL_BYTES = 256 * 1024
"""Most that is shown of all references of a skill, or of all fixtures of a case."""
_KEPT = 256


class Package(NamedTuple):
    """What is sent, and what had to be left out of it."""

    system: str | None
    user: str
    warnings: tuple[str, ...]


def system_message(job: Job) -> str | None:
    """What a model behind HTTP is told of the skill; None when there is nothing to tell."""
    return Packages().of(job).system


def user_message(job: Job) -> str:
    """The prompt with the fixtures inlined, the same in every arm."""
    return Packages().of(job).user


class _Text(NamedTuple):
    text: str | None
    warnings: tuple[str, ...]


class Packages:
    """Packages, built once per arm and case and kept for the repetitions. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[tuple[str, ...], _Text] = OrderedDict()

    def of(self, job: Job) -> Package:
        """System and user message of a job."""
        system = _Text(job.system, ())
        if job.skills:
            key = ("system", job.system or "", *(f"{skill.name}/{skill.tree.digest}" for skill in job.skills))
            system = self._kept(key) or self._keep(key, _system(job))
        user = _Text(job.prompt, ())
        if job.fixtures is not None and job.fixtures.files:
            key = ("user", job.prompt, job.fixtures.digest, job.stage)
            user = self._kept(key) or self._keep(key, _user(job, job.fixtures))
        return Package(system.text, user.text or "", system.warnings + user.warnings)

    def _kept(self, key: tuple[str, ...]) -> _Text | None:
        with self._lock:
            made = self._made.get(key)
            if made is not None:
                self._made.move_to_end(key)
            return made

    def _keep(self, key: tuple[str, ...], made: _Text) -> _Text:
        with self._lock:
            self._made[key] = made
            if len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return made


def _system(job: Job) -> _Text:
    several = len(job.skills) > 1
    opening = "You have these skills. Where one fits the task, follow its instructions." if several else (
        "You have this skill. Where it fits the task, follow its instructions."
    )  # fmt: skip
    warnings: list[str] = []
    parts = [opening, *(_skill(skill, job.blobs, warnings) for skill in job.skills)]
    if job.system:
        parts.insert(0, job.system)
    return _Text("\n\n".join(parts), tuple(warnings))


def _skill(skill: Skill, blobs: Blobs, warnings: list[str]) -> str:
    shown = [ref for ref in skill.tree.files if _is_reference(ref.path)]
    listed = [ref for ref in skill.tree.files if ref not in shown and ref.path.lower() != "skill.md"]
    lines = [f'<skill name="{skill.name}">', f"<description>\n{skill.description}\n</description>"]
    lines.append(f"<instructions>\n{skill.body.strip()}\n</instructions>")
    lines += _inlined("reference", [(ref.path, ref) for ref in shown], blobs, warnings, f"skill '{skill.name}'")
    if listed:
        rows = "\n".join(_listed(ref, blobs) for ref in listed)
        lines.append(f"<other-files>\n{rows}\n</other-files>")
    lines.append("</skill>")
    return "\n".join(lines)


def _is_reference(path: str) -> bool:
    return path.startswith("references/") and path.lower().endswith((".md", ".mdx", ".markdown"))


def _listed(ref: FileRef, blobs: Blobs) -> str:
    """A file by path and size; of a script also the line that says what runs it."""
    row = f"{ref.path} ({ref.size} bytes)"
    if ref.path.startswith("scripts/") and 0 < ref.size <= TOTAL_BYTES:
        first = blobs.get(ref.digest)[:200].partition(b"\n")[0]
        if first.startswith(b"#!"):
            row += f" {first.decode('utf-8', 'replace').rstrip()}"
    return row


def _user(job: Job, fixtures: Tree) -> _Text:
    """The prompt below its files; a file named by `{{name}}` stands there instead."""
    marks: dict[str, str] = {}
    left = []
    for ref in fixtures.files:
        place = landing(ref.path, job.stage)  # type: ignore[arg-type]
        wanted = {mark for mark in _marks(ref, place, fixtures) if mark in job.prompt}
        text = _whole(ref, job.blobs) if wanted else None
        if text is None:
            left.append((place, ref))
        else:
            marks |= dict.fromkeys(wanted, text)
    prompt = job.prompt
    if marks:  # in one pass, so that a mark within a file's text stays what it is
        prompt = re.sub("|".join(map(re.escape, marks)), lambda found: marks[found.group()], prompt)
    if not left:
        return _Text(prompt, ())
    warnings: list[str] = []
    blocks = _inlined("file", left, job.blobs, warnings, "the task")
    return _Text("\n".join(["The files of this task:", *blocks, "", "The task:", prompt]), tuple(warnings))


def _marks(ref: FileRef, place: str, fixtures: Tree) -> list[str]:
    """What may stand for a file: its listed path, its place, and its last segment if no other file shares it."""
    name = ref.path.rpartition("/")[2]
    sharing = sum(other.path.rpartition("/")[2] == name for other in fixtures.files)
    names = [ref.path, place, *([name] if sharing == 1 else [])]
    return [f"{{{{{name}}}}}" for name in names]


def _whole(ref: FileRef, blobs: Blobs) -> str | None:
    """The file as text, if it is text and small enough to be shown whole."""
    if ref.size > FILE_BYTES:
        return None
    data = blobs.get(ref.digest)
    return None if _is_binary(data) else data.decode("utf-8", "replace")


def _is_binary(data: bytes) -> bool:
    return b"\0" in data[:4096]


def _inlined(tag: str, files: Sequence[tuple[str, FileRef]], blobs: Blobs, warnings: list[str], owner: str) -> list[str]:
    """Files as blocks, each cut at FILE_BYTES and all at TOTAL_BYTES; whatever is cut or left out is said in a warning."""
    blocks, room = [], TOTAL_BYTES
    for path, ref in files:
        data = blobs.get(ref.digest)
        if _is_binary(data):
            blocks.append(f'<{tag} path="{path}" bytes="{len(data)}" left-out="binary"/>')
            continue
        if room <= 0:
            blocks.append(f'<{tag} path="{path}" bytes="{len(data)}" left-out="too much in all"/>')
            warnings.append(f"{owner}: {path} is named but not shown, since at most {TOTAL_BYTES // 1024} KiB are sent in all")
            continue
        most = min(FILE_BYTES, room)
        cut = len(data) > most
        text = data[:most].decode("utf-8", "ignore" if cut else "replace")
        room -= min(len(data), most)
        if cut:
            warnings.append(f"{owner}: {path} is cut to {most} of its {len(data)} bytes")
        note = f' bytes="{len(data)}" cut="true"' if cut else ""
        blocks.append(f'<{tag} path="{path}"{note}>\n{text}\n</{tag}>')
    return blocks

"""A folder with a SKILL.md, read into a Skill: almost everything loads, and what is wrong is said with its line."""

# ruff: noqa: PTH110, PTH115
# (os calls on strings: a library may hold ten thousand skills, and pathlib costs several times as much)
from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skilltrial.load import yaml_text
from skilltrial.load.document import Fault, Level, Notes, Spot, decode, name_text, read_bytes, shown, spot_of
from skilltrial.load.measure import measured
from skilltrial.load.salvage import salvage
from skilltrial.load.skill_rules import check_frontmatter, profile_keys
from skilltrial.load.trees import Digests, file_refs, inside, outside_skill, tree_of, walk
from skilltrial.records.problems import Problem, Where
from skilltrial.records.suite import Skill

SKILL_CAP = 4_000_000
"""Bytes of one SKILL.md."""
_LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_MENTION = re.compile(r"(?<![\w./-])((?:scripts|references)/[\w./-]*[\w-]\.[A-Za-z0-9]{1,8})\b(?![*{<])")
_CLOSING = re.compile(r"^---[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"(?:^|\s)!`[^`\n]+`")
_ARGUMENTS = re.compile(r"\$ARGUMENTS\b|\$[1-9]\b")
_FAR = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|#|/|\$|\{|<")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """Where a skill was found."""

    folder: str
    """Absolute."""
    file_name: str
    label: str
    """The folder as messages call it, relative to the working folder where possible."""
    root: str
    """Resolved folder that links may not leave: the repository."""
    at_root: bool = False
    """The skill is the repository, so its folder's name says nothing."""
    entries: tuple[os.DirEntry[str], ...] | None = None
    """Listing of the folder."""

    @property
    def folder_name(self) -> str:
        return name_text(self.folder[self.folder.rfind(os.sep) + 1 :])


def read(found: SkillFile, *, level: Level, profile: str | None, digests: Digests) -> tuple[Skill | None, list[Problem]]:
    """The skill, or None when there is nothing to evaluate; and every problem of its SKILL.md and its files."""
    label = f"{found.label}/{name_text(found.file_name)}" if found.label != "." else name_text(found.file_name)
    notes = Notes(label, level)
    if found.file_name != "SKILL.md":
        notes.say(
            "wwe",
            "file-name",
            f"the file is called '{name_text(found.file_name)}'; most agents look for 'SKILL.md' only",
            hint="rename it to SKILL.md",
        )
    text = _text(found, notes)
    if text is None:
        return None, notes.problems
    front, body, body_line = _parts(text, notes)
    if front is None:
        return None, notes.problems
    folder_name = found.folder_name
    name = _named(front, folder_name, notes)
    description = _described(front, notes)
    check_frontmatter(front, folder_name, found.at_root, profile_keys(profile), notes)
    if not body:
        notes.error(
            "empty-body", "there is nothing below the frontmatter", spot=Spot(body_line, 1), hint="write what the agent has to do"
        )
    files = walk(
        found.folder,
        boundary=found.root,
        notes=notes,
        leave_out=outside_skill,
        hidden=f"{found.folder}{os.sep}evals",
        entries=list(found.entries) if found.entries is not None else None,
    )
    paths = {file.path for file in files}
    _nested(paths, notes)
    _body(body, text, body_line, paths, found, notes)
    if description is None or not body:
        return None, notes.problems
    skill_hash, size = measured(files) if digests.wanted else (None, None)
    skill = Skill(
        id=name,
        name=name,
        description=description,
        body=body,
        tree=tree_of(file_refs(files, digests, notes), digests.wanted),
        frontmatter=front,
        hash=skill_hash,
        size=size,
        where=Where(file=label),
    )
    return skill, notes.problems


def _text(found: SkillFile, notes: Notes) -> str | None:
    path = f"{found.folder}{os.sep}{found.file_name}"
    if any(entry.name == found.file_name and entry.is_symlink() for entry in found.entries or ()):
        real = os.path.realpath(path)
        if not inside(real, found.root):
            notes.error(
                "link-outside", "SKILL.md is a link to a place outside the repository", hint="copy the file into the skill"
            )
            return None
        if not os.path.exists(real):
            notes.error("dangling-link", f"SKILL.md is a link to nothing ({name_text(os.readlink(path))})")
            return None
        path = real
    data = read_bytes(path, SKILL_CAP)
    text = decode(data) if isinstance(data, bytes) else data
    if isinstance(text, Fault):
        notes.error(text.rule, text.found, hint=text.hint, spot=text.spot)
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _parts(text: str, notes: Notes) -> tuple[dict[str, Any] | None, str, int]:
    """Frontmatter, body and the line the body starts in; frontmatter is None when there is none to use."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        _no_frontmatter(text, first, notes)
        return None, "", 1
    end = _CLOSING.search(rest)
    if end is None:
        notes.error(
            "frontmatter-open",
            "the frontmatter that starts in line 1 has no closing '---'",
            spot=Spot(1, 1),
            hint="put a line '---' after the last key",
        )
        return None, "", 1
    front = rest[: end.start()]
    return _frontmatter(front, notes), rest[end.end() :].strip(), front.count("\n") + 3


def _no_frontmatter(text: str, first: str, notes: Notes) -> None:
    late = _CLOSING.search(text)
    if late and re.search(r"^(?:name|description)[ \t]*:", text[late.end() : late.end() + 10_000], re.MULTILINE):
        notes.error(
            "frontmatter-late",
            f"the frontmatter must start in line 1, but line 1 is '{shown(first)}'",
            spot=Spot(1, 1),
            hint="move the '---' block to the top",
        )
    elif not text.strip():
        notes.error("empty-file", "the file is empty")
    else:
        notes.error(
            "no-frontmatter",
            f"there is no frontmatter; line 1 is '{shown(first)}'",
            spot=Spot(1, 1),
            hint="start with a line '---', then name and description, then '---'",
        )


def _frontmatter(front: str, notes: Notes) -> dict[str, Any] | None:
    if len(front) > yaml_text.FRONTMATTER_CAP:
        notes.error(
            "too-large",
            f"the frontmatter has {len(front):,} characters; at most {yaml_text.FRONTMATTER_CAP:,} are read",
            spot=Spot(1, 1),
        )
        return None
    parsed = yaml_text.parse(front, first_line=2)
    notes.locate = parsed.locate
    value, faults = parsed.value, parsed.faults
    if parsed.broken:
        saved = salvage(front, 2)
        value, faults, notes.locate = saved.value, saved.faults or parsed.faults, saved.locate
        if not value:
            notes.error(parsed.faults[0].rule, parsed.faults[0].found, spot=parsed.faults[0].spot)
            return None
    elif not isinstance(value, dict):
        notes.error("frontmatter-form", "the frontmatter is no list of 'key: value' lines", spot=Spot(2, 1))
        return None
    for fault in faults:
        severities = "wee" if fault.rule == "duplicate-key" else "wwe"
        notes.say(severities, fault.rule, fault.found, fault.pointer or (), fault.hint, fault.spot)
    return value if isinstance(value, dict) else None


def _named(front: dict[str, Any], folder: str, notes: Notes) -> str:
    name = front.get("name")
    if isinstance(name, str) and name.strip():
        return name.strip()
    if "name" not in front or name is None or name == "":
        notes.say("wee", "name-missing", "'name' is missing", hint=f"write: name: {folder}", spot=Spot(1, 1))
        return folder
    kind = "a YAML truth value" if isinstance(name, bool) else "not text"
    notes.say("wee", "name-form", f"'name' is {kind}", ("name",), f'write: name: "{folder}"')
    return str(name) if isinstance(name, (int, float)) and not isinstance(name, bool) else folder


def _described(front: dict[str, Any], notes: Notes) -> str | None:
    text = front.get("description")
    if isinstance(text, str) and text.strip():
        return text.strip()
    if text is None or text == "" or isinstance(text, str):
        spot = None if "description" in front else Spot(1, 1)
        notes.error(
            "description-missing",
            "'description' is missing or empty",
            ("description",) if spot is None else (),
            "say what the skill does and when to use it",
            spot,
        )
        return None
    if isinstance(text, (int, float)):
        notes.say("wee", "description-form", "'description' is not text", ("description",), "put it in quotes")
        return str(text)
    notes.error("description-form", "'description' is not text", ("description",), "write one line of text")
    return None


def _nested(paths: set[str], notes: Notes) -> None:
    nested = sorted(path.rsplit("/", 1)[0] for path in paths if "/" in path and path.endswith(("/SKILL.md", "/skill.md")))
    if nested:
        notes.info(
            "nested-skill",
            f"{len(nested)} skill{'s' * (len(nested) > 1)} below this one ({', '.join(nested[:3])}) belong to its files and are not evaluated by themselves",
        )


def _body(body: str, text: str, body_line: int, paths: Container[str], found: SkillFile, notes: Notes) -> None:
    def place(index: int) -> Spot:
        return spot_of(text, text.find(body) + index)

    lines = body.count("\n") + 1
    if lines > 500:
        notes.say(
            "-iw",
            "body-length",
            f"the body has {lines} lines; 500 are advised",
            spot=Spot(body_line, 1),
            hint="move detail to references/",
        )
    if "$" in body and (argument := _ARGUMENTS.search(body)):
        notes.say(
            "-ii",
            "arguments",
            f"{argument[0]} is filled in by one agent program only; others show it as it stands",
            spot=place(argument.start()),
        )
    if "!`" in body and (command := _SHELL.search(body)):
        notes.warn(
            "load-time-command",
            f"{command[0].strip()} runs when the skill is loaded, before the first turn; when it fails the run may end empty",
            spot=place(command.start() + 1),
        )
    if "](" not in body and "scripts/" not in body and "references/" not in body:
        return
    plain = (
        _FENCE.sub(lambda fence: "".join("\n" if c == "\n" else " " for c in fence[0]), body)
        if "```" in body or "~~~" in body
        else body
    )
    seen: set[str] = set()
    for link in _LINK.finditer(plain):
        _link(link[1], place(link.start(1)), paths, found, seen, notes)
    for mention in _MENTION.finditer(body):
        path = os.path.normpath(mention[1]).replace(os.sep, "/")
        if path not in paths and path not in seen:
            seen.add(path)
            notes.say("wwe", "missing-file", f"the body names {path}, which is not there", spot=place(mention.start(1)))


def _link(target: str, spot: Spot, paths: Container[str], found: SkillFile, seen: set[str], notes: Notes) -> None:
    path = target.split("#", 1)[0].split("?", 1)[0]
    if not path or path in seen or _FAR.match(target):
        return
    seen.add(path)
    clean = os.path.normpath(path.replace("%20", " ")).replace(os.sep, "/")
    if clean.startswith(".."):
        notes.say(
            "wwe",
            "link-leaves-skill",
            f"the link to {shown(path)} leaves the skill's folder: it leads nowhere once the skill is installed",
            spot=spot,
        )
    elif clean not in paths and not _is_folder(clean, paths):
        hidden = Path(found.folder, clean)
        why = (
            "leads into evals/, which is never installed"
            if clean.split("/")[0] == "evals" and hidden.exists()
            else "leads to no file"
        )
        seen.add(clean)
        notes.say("wwe", "broken-link", f"the link to {shown(path)} {why}", spot=spot)


def _is_folder(path: str, paths: Any) -> bool:
    start = path.rstrip("/") + "/"
    return path == "." or any(known.startswith(start) for known in paths)

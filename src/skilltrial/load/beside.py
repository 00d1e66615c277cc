"""Files that belong to a suite beside the one it was found by: the parts of a folder of cases, the tasks of a configuration."""

# ruff: noqa: PTH118
# (os calls on strings, as everywhere in loading)
from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from skilltrial.load import json_text, yaml_text
from skilltrial.load.discover import Disk
from skilltrial.load.document import Document, Fault, Spot, decode, name_text, read_bytes, system_path
from skilltrial.load.trees import inside

_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a suite."""

    path: str
    """Relative to the suite's folder, with '/'."""
    label: str
    document: Document
    """Its data; of Markdown the frontmatter, {} where it has none."""
    body: str = ""
    """Of Markdown, what follows the frontmatter."""


@dataclass(slots=True)
class Beside:
    """The folder of a suite, read only as far as a dialect asks."""

    folder: str
    disk: Disk
    root: str
    """Resolved folder that links may not leave."""
    read_so_far: dict[str, str] = field(default_factory=dict)
    """Relative path -> digest of the bytes."""

    def names(self, inner: str = "") -> list[str]:
        """What lies in the folder, or in one of its folders; empty where there is none."""
        entries = self.disk.listing(os.path.join(self.folder, system_path(inner)) if inner else self.folder)
        return sorted(name_text(entry.name) for entry in entries or ())

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(os.path.join(self.folder, system_path(path)))  # noqa: PTH112

    def exists(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self.folder, system_path(path)))

    def part(self, path: str) -> Part | None:
        """The file, parsed by its ending; None when there is none. What cannot be read is in its document's faults."""
        full = os.path.join(self.folder, system_path(path))
        if not os.path.lexists(full):
            return None
        label = self.disk.label(full)
        if not inside(os.path.realpath(full), self.root):
            fault = Fault("link-outside", "is a link to a place outside the repository", None, "copy the file here")
            return Part(path, label, Document(None, (fault,), broken=True))
        data = read_bytes(full, json_text.SIZE_CAP)
        text = data if isinstance(data, Fault) else decode(data)
        if isinstance(data, Fault) or isinstance(text, Fault):
            fault = data if isinstance(data, Fault) else text  # type: ignore[assignment]
            return Part(path, label, Document(None, (fault,), broken=True))
        self.read_so_far[path] = hashlib.sha256(data).hexdigest()
        if path.endswith(".md"):
            return _markdown(path, label, text)
        return Part(path, label, json_text.parse(text) if path.endswith(".json") else yaml_text.parse(text))

    def text(self, path: str) -> str | None:
        """The file as text; None when there is none, it is too large, no UTF-8, or a link that leads outside."""
        full = os.path.join(self.folder, system_path(path))
        if not os.path.isfile(full) or not inside(os.path.realpath(full), self.root):  # noqa: PTH113
            return None
        data = read_bytes(full, json_text.SIZE_CAP)
        text = data if isinstance(data, Fault) else decode(data)
        if isinstance(data, Fault) or isinstance(text, Fault):
            return None
        self.read_so_far[path] = hashlib.sha256(data).hexdigest()
        return text

    def digest(self, own: str) -> str:
        """The suite's own digest, taken together with those of all files read beside it."""
        if not self.read_so_far:
            return own
        lines = [f"\0{own}\n", *(f"{path}\0{digest}\n" for path, digest in sorted(self.read_so_far.items()))]
        return "sha256:" + hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _markdown(path: str, label: str, text: str) -> Part:
    """Frontmatter between two lines of `---`, and the rest."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != _FENCE:
        return Part(path, label, Document({}), text.strip())
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        fault = Fault("frontmatter", "the frontmatter is not closed by a line of '---'", Spot(1, 1))
        return Part(path, label, Document(None, (fault,), broken=True))
    document = yaml_text.parse("".join(lines[1:end]), first_line=2)
    if not document.broken and not isinstance(document.value, dict):
        value = {} if document.value is None else document.value
        faults = () if value == {} else (Fault("frontmatter", "the frontmatter is no list of 'key: value' lines", Spot(2, 1)),)
        document = Document(value, faults, broken=bool(faults))
    return Part(path, label, document, "".join(lines[end + 1 :]).strip())

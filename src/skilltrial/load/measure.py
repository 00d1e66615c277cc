"""How large a skill is, and its hash as agent-skill-eval makes it, so that results of both can be laid side by side."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from skilltrial.load.trees import FoundFile
from skilltrial.records.suite import ContentFile, SkillMdSize, SkillSize

_FRONTMATTER = re.compile(r"\A---[ \t]*\n.*?^---[ \t]*$", re.DOTALL | re.MULTILINE)


def measured(files: Iterable[FoundFile]) -> tuple[str, SkillSize]:
    """The hash and the size of a skill's files: SHA-256 over path, NUL, bytes, NUL of each in order of path.

    Words are counted in text alone. A file that cannot be read is left out here; elsewhere it is an error.
    """
    total = hashlib.sha256()
    found = []
    main = SkillMdSize()
    for file in sorted(files, key=lambda one: one.path):
        try:
            data = Path(file.real).read_bytes()
        except OSError:
            continue
        total.update(file.path.encode("utf-8", "surrogateescape") + b"\0" + data + b"\0")
        text = _text(data)
        words = len(text.split())
        found.append(ContentFile(path=file.path, bytes=len(data), words=words, sha256=hashlib.sha256(data).hexdigest()))
        if file.path == "SKILL.md":
            main = SkillMdSize(bytes=len(data), words=words, body_words=len(_FRONTMATTER.sub("", text, count=1).split()))
    size = SkillSize(
        files=len(found),
        bytes=sum(file.bytes for file in found),
        words=sum(file.words for file in found),
        skill_md=main,
        content_files=tuple(found),
    )
    return total.hexdigest(), size


def _text(data: bytes) -> str:
    """The text of a file, with plain ends of lines; "" for what is none."""
    try:
        return "" if b"\0" in data else data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return ""

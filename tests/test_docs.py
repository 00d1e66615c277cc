"""The docs are true: links lead somewhere, made parts are up to date, words are those of the records."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from skilltrial.records.checks import CHECKS
from skilltrial.records.evidence import Outcome
from skilltrial.records.summary import ReasonCode, Verdict

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "changelog.d").glob("*.md")]
)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def regenerate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("regenerate", ROOT / "docs" / "regenerate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def links_of(page: Path) -> Iterator[str]:
    yield from re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text(encoding="utf-8")))


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{link}: nothing there"
        assert not anchor or anchor in anchors_of(goal), f"{link}: no such heading"


def test_every_page_is_reached_from_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    reached = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}
    assert {page for page in (ROOT / "docs").rglob("*.md") if page != index} <= reached


def test_made_parts_are_up_to_date() -> None:
    stale = [
        str(path.relative_to(ROOT)) for path, text in regenerate().pages().items() if path.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run: make docs"


def test_the_words_page_knows_every_word() -> None:
    page = (ROOT / "docs" / "concepts" / "what-the-words-mean.md").read_text(encoding="utf-8")
    for word in (*get_args(Verdict), *get_args(ReasonCode), *get_args(Outcome)):
        assert word in page, word


def test_the_guide_knows_every_check() -> None:
    page = (ROOT / "docs" / "guides" / "writing-suites.md").read_text(encoding="utf-8")
    assert not [name for name in CHECKS if name not in ("rubric", "quality") and f"`{name}`" not in page]


def test_a_change_is_one_sentence() -> None:
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        if fragment.name != "README.md":
            assert re.match(r"(added|changed|fixed|removed)-", fragment.name), fragment.name
            text = fragment.read_text(encoding="utf-8").strip()
            assert text.endswith(".") and "\n" not in text, fragment.name


def test_the_examples_of_the_library_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "guides" / "library.md"
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(example, str(page), "exec"), names)
    assert "with_skill 1.0" in capsys.readouterr().out

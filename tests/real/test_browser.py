"""The report in a real browser: it is readable, its script runs under its own policy, and nothing is fetched."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from skilltrial.cli import exit_code_of

CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH (Debian: apt-get install chromium)"),
]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--virtual-time-budget=3000",
)  # fmt: skip


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    assert exit_code_of(["init", "my-notes"]) == 0
    assert exit_code_of(["run", "my-notes", "--target", "fake", "-n", "2"]) == 1
    capsys.readouterr()
    return tmp_path / "skilltrial-workspace" / "iteration-1" / "report" / "index.html"


def opened(page: Path, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    argv = [CHROMIUM, *FLAGS, f"--user-data-dir={folder}", *more, page.as_uri()]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)


def test_the_page_shows_its_answer_and_breaks_none_of_its_own_rules(report: Path, tmp_path: Path) -> None:
    shown = opened(report, tmp_path / "profile", "--dump-dom")
    assert "my-notes" in shown.stdout and "<h1" in shown.stdout
    assert shown.stdout.count("<svg") >= 1
    complaints = [line for line in shown.stderr.splitlines() if "Content Security Policy" in line or "CONSOLE" in line]
    assert not complaints


def test_it_can_be_drawn_light_dark_and_narrow(report: Path, tmp_path: Path) -> None:
    for number, more in enumerate((["--window-size=1180,1500"], ["--force-dark-mode"], ["--window-size=400,1500"])):
        picture = tmp_path / f"{number}.png"
        opened(report, tmp_path / f"profile-{number}", f"--screenshot={picture}", *more)
        assert picture.stat().st_size > 10_000

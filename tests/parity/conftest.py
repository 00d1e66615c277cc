"""The command line in this process, and a skill with a suite, as the flows' own tests have them."""

from pathlib import Path
from typing import Any

import pytest

from ..flows.conftest import colours, new_skill, skilltrial
from .npm import Home

__all__ = ["colours", "home", "new_skill", "skilltrial"]


@pytest.fixture
def home(skilltrial: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The working folder of a user of agent-skills-eval, with a key in the variable that it looks for."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef0123")
    return Home(tmp_path, skilltrial)

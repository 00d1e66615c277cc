"""The demo: the example skill on a small real model shows a lift."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from skilltrial.backends.local import bundled_weights

ROOT = Path(__file__).parent.parent


@pytest.mark.real
@pytest.mark.local_model
@pytest.mark.skipif(bundled_weights() is None or find_spec("xllamacpp") is None, reason="the local model is not installed")
def test_the_demo_measures_a_lift_on_a_real_model(tmp_path: Path) -> None:
    options = [
        "--target",
        "local",
        "--repetitions",
        "3",
        "--metric",
        "cases",
        "--gate",
        "none",
        "--no-config",
        "--format",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "skilltrial", "run", str(ROOT / "examples" / "short-answers"), *options],
        cwd=tmp_path, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    (lift,) = summary["lifts"]
    assert summary["coverage"]["graded"] == summary["coverage"]["planned"] == 66
    assert lift["lift"] > 0 and lift["low"] < lift["lift"] < lift["high"]
    assert (tmp_path / "skilltrial-workspace" / "iteration-1" / "report" / "index.html").is_file()

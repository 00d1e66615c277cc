"""Every program can be the judge: its verdicts become grades, in a folder of its own, and nothing is left of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import skilltrial
from scripted import INPUT_TOKENS, OUTPUT_TOKENS, quarantine
from scripted.programs import AGENTS, MODELS, missing, path_for

pytestmark = pytest.mark.real

PACKAGE = Path(skilltrial.__file__).parents[1]

ANSWERER = """#!/bin/sh
cat >/dev/null
echo '{"output": "The sky is blue."}'
"""
SKILL = "---\nname: colours\ndescription: Names colours. Use it for questions about colours.\n---\nName the colour.\n"
SUITE = {"skill_name": "colours", "evals": [{"id": 1, "prompt": "What colour is the sky?", "checks": [
    {"id": "named", "type": "rubric", "text": "The answer names a colour."},
    {"id": "why", "type": "rubric", "text": "The answer explains why."},
]}]}  # fmt: skip
VERDICTS = {
    "verdicts": [
        {"id": "named", "passed": True, "evidence": "blue"},
        {"id": "why", "passed": False, "evidence": "The sky is blue."},
    ]
}


@pytest.fixture(params=MODELS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name) or quarantine.unavailable():
        pytest.skip(reason)
    return name


def test_a_program_judges(program: str, tmp_path: Path) -> None:
    answerer = tmp_path / "answer.sh"
    answerer.write_text(ANSWERER)
    answerer.chmod(0o755)
    for name, text in {"SKILL.md": SKILL, "evals/evals.json": json.dumps(SUITE)}.items():
        (tmp_path / "colours" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "colours" / name).write_text(text)
    words = [
        "run",
        "colours",
        "--adapter",
        str(answerer),
        "-n",
        "1",
        "--no-config",
        "--metric",
        "checks",
        "--gate",
        "none",
        "-c",
        "1",
    ]
    judge = ["--judge", f"{program}:{MODELS[program]}", "--judge-base-url", "{url}"]
    told = quarantine.order(
        tmp_path,
        argv=[sys.executable, "-m", "skilltrial", *words, *judge, "--format", "json"],
        env={"PATH": path_for(program), "HOME": str(tmp_path), "LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE)},
        cwd=str(tmp_path),
        scenes={"You are a strict grader": {"answer": json.dumps(VERDICTS)}},
        keep=[str(tmp_path), str(AGENTS), sys.prefix, str(Path(__file__).parents[2])],
        timeout_s=300,
    )()
    summary = json.loads(told["stdout"] or "{}")
    assert summary, told["stderr"]
    assert [rate["pass_rate"] for rate in summary["rates"]] == [0.5, 0.5], told["stderr"]
    (judged,) = summary["judge"]
    assert (judged["backend"], judged["calls"]) == (program, 2)
    assert judged["tokens"] == 2 * (INPUT_TOKENS + OUTPUT_TOKENS)
    assert len(told["requests"]) == 2 and not any(request["results"] for request in told["requests"])
    assert [request["tools"] for request in told["requests"]] == [[], []], "a judge can call nothing"
    assert (told["look_ups"], told["packets"], told["processes"], told["ports"]) == ([], [], [], [])

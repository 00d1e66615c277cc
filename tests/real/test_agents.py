"""`skilltrial run` with the real programs: what the product promises of a trial, seen from the model's side of the wire.

The whole run happens in a quarantine: an attempt to reach any name or address of the world is seen, and so is whatever stays behind.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skilltrial
from scripted import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, quarantine
from scripted.programs import AGENTS, MODELS, missing, path_for
from skilltrial import registry

pytestmark = pytest.mark.real

PACKAGE = Path(skilltrial.__file__).parents[1]

READS = {"codex", "pi"}
"""They have no event for a skill; their model reads its file."""
LEAVES = {"codex": [f"/tmp/codex-daemon-{os.geteuid()}"]}
"""What a program puts outside of every temporary folder it is given: its own sandbox makes one empty folder per user."""
FOREIGN = 77
SKILL = """---
name: {name}
description: Write {name} from a commit list. Use when the user asks for {name}.
---

# {name}

WRITE: notes by the book
"""
SUITE = {
    "skill_name": "release-notes",
    "evals": [
        {
            "id": "notes",
            "prompt": "Write down what changed in commits.txt, into out.txt.",
            "files": ["evals/files/commits.txt"],
            "assertions": [
                {"type": "contains", "value": "last word"},
                {"type": "file_contains", "path": "out.txt", "contains": "by the book"},
            ],
        },
        {
            "id": "totals",
            "prompt": "Count the kinds of changes in commits.txt, into out.txt.",
            "files": ["evals/files/commits.txt"],
            "assertions": [{"type": "file_contains", "path": "out.txt", "contains": "by the book"}],
        },
    ],
}
CELLS = 8
SCENES = {
    "the secret word?": {
        "play": "skillonly",
        "skill": r"secret-word-\w+",
        "learns": r"secret word is (\w+)\.",
        "answer": "{learned}",
    },
    "": {"play": "skill", "skill": "release-notes"},
}
"""The first plays in the canary's two runs: three requests in all."""


@pytest.fixture(params=MODELS)
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if reason := missing(name) or quarantine.unavailable():
        pytest.skip(reason)
    return name


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A skill with a suite, below 77 other skills and beside a user who has this one and more in every place an agent looks."""
    places = (".claude/skills", ".agents/skills", ".gemini/skills", ".opencode/skills")
    for number in range(FOREIGN):
        name = f"foreign-{number}"
        put(tmp_path / "tree" / places[number % len(places)] / name / "SKILL.md", SKILL.format(name=name))
    for place in (*places, ".config/opencode/skills", ".codex/skills"):
        for name in ("release-notes", "of-the-user"):
            put(tmp_path / "user" / place / name / "SKILL.md", SKILL.format(name=name))
    skill = tmp_path / "tree/project/release-notes"
    put(skill / "SKILL.md", SKILL.format(name="release-notes"))
    put(skill / "evals/evals.json", json.dumps(SUITE))
    put(skill / "evals/files/commits.txt", "feat: add csv export\nfix: crash on empty input\n")
    return skill.parent


@pytest.fixture(params=["none", "bwrap"])
def level(request: pytest.FixtureRequest, machine_with: Callable[..., Any]) -> str:
    name: str = request.param
    probe = registry.get("sandboxes", name)().probe(machine_with(PATH=os.environ["PATH"]))
    if not probe.ok:
        pytest.skip(probe.reason)
    return name


def test_a_trial_of_two_cases_two_arms_two_repetitions(program: str, level: str, project: Path, tmp_path: Path) -> None:
    told = trial(program, level, project, tmp_path)
    assert told["code"] == 0, told["stderr"]
    summary = json.loads(told["stdout"])

    coverage, rates = summary["coverage"], {rate["arm"]: rate for rate in summary["rates"]}
    assert (coverage["planned"], coverage["graded"], coverage["failed_measurements"]) == (CELLS, CELLS, {}), told["stderr"]
    assert rates["with_skill"]["pass_rate"] == 1.0 and rates["without_skill"]["full_pass_rate"] == 0.0
    for arm, requests in (("with_skill", 3), ("without_skill", 2)):
        tokens = rates[arm]["tokens"]
        assert (tokens["input"], tokens["cached"], tokens["output"]) == tuple(
            requests * count for count in (INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS)
        )
    (activation,) = summary["activation"]
    used = Counter(activated=4) if program not in READS else Counter(read=4)
    assert Counter({key: activation[key] for key in ("activated", "read", "forced", "not_seen", "unknown")}) == used
    (isolation,) = summary["isolation"]
    assert (isolation["clean"], isolation["level"]) == (True, level), isolation["reason"]

    offered = Counter(name for request in told["requests"] for name in request["skills"])
    assert not [name for name in offered if name.startswith(("foreign-", "of-the-user"))]
    assert offered["release-notes"] == 4 * 3, "the arm with the skill is offered it in each request, the baseline in none"
    assert len(told["requests"]) == 4 * 3 + 4 * 2 + 3, "no request but those of the runs and of the canary"
    assert (told["look_ups"], told["packets"]) == ([], []), "it tried to reach the world"
    left = [path for path in told["files"] if path not in LEAVES.get(program, ())]
    assert (told["processes"], told["ports"], left) == ([], [], []), "it left something behind"
    assert sorted(path.name for path in project.iterdir()) == ["release-notes", "skilltrial-workspace"]
    assert sorted(path.name for path in (tmp_path / "user").iterdir()) == sorted(
        {place.split("/")[0] for place in (".claude", ".agents", ".gemini", ".opencode", ".config", ".codex")}
    )


def trial(program: str, level: str, project: Path, tmp_path: Path) -> dict[str, Any]:
    """What became of `skilltrial run` with one program as its target."""
    target = f"{program}:{MODELS[program]}"
    words = [
        "run",
        "release-notes",
        "--target",
        target,
        "--base-url",
        "{url}",
        "-n",
        "2",
        "--judge",
        "none",
        "--no-config",
        "--sandbox",
        level,
    ]
    run = quarantine.order(
        tmp_path,
        argv=[sys.executable, "-m", "skilltrial", *words, "--format", "json"],
        env={"PATH": path_for(program), "HOME": str(tmp_path / "user"), "LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE)},
        cwd=str(project),
        scenes=SCENES,
        keep=[str(tmp_path), str(AGENTS), sys.prefix, str(Path(__file__).parents[2])],
        timeout_s=600,
    )
    return run()

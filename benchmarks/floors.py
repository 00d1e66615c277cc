"""The least that any program must do for the same result, in plain Python. Each is a process of its own.

python benchmarks/floors.py pass | library DIR | journal EXPERIMENT
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def library(root: Path) -> int:
    """Reads every skill, splits off its frontmatter and parses its evals."""
    found = 0
    for skill in root.iterdir():
        text = (skill / "SKILL.md").read_text("utf-8")
        _, head, _ = text.split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        cases = json.loads((skill / "evals" / "evals.json").read_bytes())
        found += bool(fields["name"] and cases["evals"])
    return found


def journal(experiment: Path) -> int:
    """Reads every line of the journal once and counts passed checks by arm."""
    passed: Counter[str] = Counter()
    lines = 0
    with (experiment / "results.jsonl").open("rb") as file:
        for raw in file:
            line = json.loads(raw)
            lines += 1
            arm = line["cell"].rsplit("/", 2)[1]
            passed[arm] += sum(grade["state"] == "passed" for grade in line.get("grades", ()))
    return lines


def main() -> None:
    """Does one of them."""
    what, *rest = sys.argv[1:]
    if what != "pass":
        print({"library": library, "journal": journal}[what](Path(rest[0])))


if __name__ == "__main__":
    main()

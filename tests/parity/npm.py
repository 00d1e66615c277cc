"""A user of agent-skills-eval: a folder of skills, settings in camelCase, and one endpoint for target and judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Answer = Callable[[dict[str, Any]], Any]


def asks_for_a_verdict(request: Mapping[str, Any]) -> bool:
    return bool(request.get("response_format"))


def verdict(request: Mapping[str, Any], passed: bool | Mapping[str, bool] = True) -> str:
    """A judge's reply on every sentence it was asked about."""
    schema = request["response_format"]["json_schema"]["schema"]
    ids = schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]
    says = passed if isinstance(passed, Mapping) else dict.fromkeys(ids, passed)
    return json.dumps({"verdicts": [{"id": name, "passed": says.get(name, True), "evidence": "seen"} for name in ids]})


def model(answer: str | Answer = "three rows", passed: bool = True) -> Answer:
    """What the endpoint replies: `answer` to a task, the same verdict on every sentence to a judge's question."""

    def reply(request: dict[str, Any]) -> Any:
        if asks_for_a_verdict(request):
            return verdict(request, passed)
        return answer if isinstance(answer, str) else answer(request)

    return reply


def text_of(request: Mapping[str, Any]) -> str:
    """All that a request says, system message first."""
    return "\n".join(str(message["content"]) for message in request["messages"])


class Home:
    """A working folder with `skills/` and settings; `run()` is the command line in it."""

    def __init__(self, folder: Path, command_line: Any) -> None:
        self.folder, self._call = folder, command_line

    def skill(self, name: str, *evals: Mapping[str, Any], files: Mapping[str, str] | None = None, **top: Any) -> Path:
        place = self.folder / "skills" / name
        texts = {
            "SKILL.md": f"---\nname: {name}\ndescription: Counts the rows of a table. Use it for tables.\n---\nCOUNT THE ROWS.\n",
            "evals/evals.json": json.dumps({"skill_name": name, "evals": list(evals), **top}),
            **(files or {}),
        }
        for path, text in texts.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
        return place

    def settings(self, url: str, **keys: Any) -> Path:
        """`agent-skills-eval.yaml` for an endpoint; JSON is YAML too."""
        path = self.folder / "agent-skills-eval.yaml"
        path.write_text(json.dumps({"root": "./skills", "target": "gpt-4o-mini", "baseUrl": url, **keys}), encoding="utf-8")
        return path

    def run(self, *more: object) -> Any:
        return self._call("run", "--config", "agent-skills-eval.yaml", *more)

    def call(self, *words: object) -> Any:
        return self._call(*words)

    @property
    def workspace(self) -> Path:
        return self.folder / "agent-skills-workspace"

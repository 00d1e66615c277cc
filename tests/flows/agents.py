"""Agent programs of a few lines, first on PATH under the names of the real ones."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

CLAUDE = """\
import json, os, sys
from pathlib import Path

def say(**record):
    print(json.dumps(record), flush=True)

def skills(folder):
    return sorted(path.parent.name for path in Path(folder).glob("*/SKILL.md"))

def answers(text, *tools):
    used = {"input_tokens": 20, "output_tokens": 5}
    blocks = [{"type": "tool_use", "id": f"call-{n}", "name": name, "input": given} for n, (name, given) in enumerate(tools)]
    if blocks:
        say(type="assistant", message={"id": "first", "model": "fake-model", "content": blocks, "usage": used})
    for block in blocks:
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}
        say(type="user", message={"content": [result]}, tool_use_result={"success": True})
    said = [{"type": "text", "text": text}]
    say(type="assistant", message={"id": "last", "model": "fake-model", "content": said, "usage": used})
    say(type="result", subtype="success", is_error=False, num_turns=1, result=text, usage=used)

if sys.argv[1:] == ["--version"]:
    print(os.environ.get("FAKE_VERSION", "2.1.332"), "(Claude Code)")
    sys.exit()
prompt, found = sys.stdin.read(), skills(".claude/skills")
say(type="system", subtype="init", model="fake-model", claude_code_version="2.1.332", skills=found, plugins=[], mcp_servers=[])
"""
"""The beginning of a fake `claude`: its stream's first record, and what the rest of the program may call."""

CODEX = """\
import json, sys

if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.171.0")
    sys.exit()
sys.stdin.read()
for record in (
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "BLUE"}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}},
):
    print(json.dumps(record))
"""


GEMINI = """\
import json, sys

if sys.argv[1:] == ["--version"]:
    print("0.61.0")
    sys.exit()
sys.stdin.read()
said = json.dumps({"verdicts": [{"id": "1", "passed": True, "evidence": "x"}]})
print(json.dumps({"type": "message", "role": "assistant", "content": said, "delta": True}))
print(json.dumps({"type": "result", "status": "success", "stats": {"total_tokens": 12, "input_tokens": 10, "output_tokens": 2}}))
"""


def install(folder: Path, name: str, body: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a program of that Python body on PATH, and a login for it into the environment."""
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable} -SE\n{body}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    keys = {"claude": "ANTHROPIC_API_KEY", "codex": "CODEX_API_KEY", "gemini": "GEMINI_API_KEY"}
    monkeypatch.setenv(keys[name], "a-key-of-the-user")
    return program


def evidence(folder: Path) -> list[dict[str, Any]]:
    """What the runs of an experiment left, one record per cell."""
    lines = [line for path in folder.rglob("evidence/*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]

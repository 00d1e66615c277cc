"""Qwen Code, run without a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import rooted
from skilltrial.backends._command_line import CommandLine, abilities
from skilltrial.backends._json_line import at, count_at, names_at, text_at
from skilltrial.backends._login import Doors, Kept, access_copy
from skilltrial.backends._messages import MessagesReader
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Trouble
from skilltrial.records.evidence import Inventory, Usage
from skilltrial.seams import Capabilities, Job

_HINT = "set OPENAI_API_KEY and base_url, or start `qwen` once and log in"
_OAUTH = ".qwen/oauth_creds.json"
_NO_TOOL = "none"
_STAY = (
    "agent", "enter_worktree", "exit_worktree", "get_goal", "list_agents", "record_artifact", "report_findings", "send_message", "skill",
    "task_stop", "tool_call", "tool_search", "update_goal",
)  # fmt: skip
"""Tools that its list of allowed ones does not turn off, but a list of excluded ones does."""


class Qwen(CommandLine):
    """`qwen`, run without a terminal."""

    name: ClassVar[str] = "qwen"
    program: ClassVar[str] = "qwen"
    package: ClassVar[str] = "npm install -g @qwen-code/qwen-code (node 22 or newer)"
    capabilities: ClassVar[Capabilities] = abilities(
        inventory=True, activation=True, tools=True, tokens=True, turns=True, endpoint=True, mcp=True
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT, variables=("OPENAI_API_KEY",), files=(Kept(_OAUTH, access_copy(_OAUTH), "QWEN_HOME"),)
    )
    key_variable: ClassVar[str] = "OPENAI_API_KEY"
    keeps: ClassVar[frozenset[str]] = frozenset({"max_turns"})
    counts: ClassVar[frozenset[str]] = frozenset({"requests", "tokens"})
    home_only: ClassVar[frozenset[str]] = frozenset({"settings", "allowed_tools"})

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["-o", "stream-json", "--chat-recording=false"]
        given += ["-m", self.model] if self.model else []
        given += ["--max-session-turns", str(job.limits.max_turns)] if job.limits.max_turns is not None else []
        return (*given, *(f"--exclude-tools={tool}" for tool in _STAY)) if job.judging else (*given, "--yolo")

    def environment(self, job: Job) -> Mapping[str, str]:
        url = self.endpoint_of(job)
        return {"OPENAI_BASE_URL": rooted(url)} if url else {}

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"QWEN_HOME": f"{home}/.qwen"}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        settings: dict[str, Any] = {
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},  # else one more call per run
        }
        if job.judging:
            settings["tools"] = {"core": [_NO_TOOL]}
        elif self.allowed_tools:
            settings["tools"] = {"core": ["skill", *self.allowed_tools]}
        settings |= _mocks.as_settings(job)
        return {".qwen/settings.json": self.merged(settings)}

    def login_files(self, source: str, files: Mapping[str, bytes]) -> Mapping[str, bytes]:
        settings = json.loads(files[".qwen/settings.json"])
        way = "qwen-oauth" if source == f"~/{_OAUTH}" else "openai"
        settings.setdefault("security", {}).setdefault("auth", {}).setdefault("selectedType", way)
        return {**files, ".qwen/settings.json": json.dumps(settings, indent=1).encode()}

    def force(self, skill: str, task: str) -> str:
        return f"/{skill} {task}"

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return QwenReader(skills, forced=forced)


plugin = Qwen

_LIMIT = re.compile(r"Reached max session turns|Run aborted: .*(budget|exceeded)", re.IGNORECASE)
_FAILED_CALL = re.compile(r"\[API Error: .*\]\s*$", re.DOTALL)


class QwenReader(MessagesReader):
    """`-o stream-json`. Its limits leave no final record, only a line on the error stream."""

    version_key: ClassVar[str] = "qwen_code_version"
    skill_tool: ClassVar[str] = "skill"
    login_hint = _HINT
    noise: ClassVar[re.Pattern[str] | None] = re.compile(
        r"^Warning: running headless|^Retrying provider attempt|^Could not parse message|^From chunk: |^Operation cancelled"
    )

    def _system(self, record: dict[str, Any]) -> None:
        super()._system(record)
        if text_at(record, "subtype") == "retry" and at(record, "data", "preserveText") is True:
            self._warn("an answer broke off and was gone on with, as at the model's limit of tokens: its text may repeat itself")

    def _inventory(self, record: dict[str, Any]) -> Inventory:
        """Skills stand among the commands, which is where a missing one shows."""
        return Inventory(skills=names_at(record, "slash_commands"), mcp_servers=names_at(record, "mcp_servers"))

    def _block(self, block: dict[str, Any], parent: str | None) -> None:
        text = text_at(block, "text")
        failed = _FAILED_CALL.search(text) if text_at(block, "type") == "text" else None
        if failed is None:
            super()._block(block, parent)
            return
        self._say(text[: failed.start()], parent)
        self._fail(Trouble(failed[0]))

    def _counts(self, counts: Any) -> Usage:
        """Its input holds what was read from a cache."""
        return Usage(
            input_tokens=count_at(counts, "input_tokens"),
            cached_tokens=count_at(counts, "cache_read_input_tokens"),
            output_tokens=count_at(counts, "output_tokens"),
            reasoning_tokens=count_at(counts, "reasoning_tokens"),
        )

    def _finish(self, complaint: str) -> None:
        limit = _LIMIT.search(complaint)
        if limit and not self.ended:
            self.ended, self.failure = True, Trouble(complaint, kind="turns")

    def _notes(self, exit_: Any, verdict: Any) -> list[str]:
        notes = super()._notes(exit_, verdict)
        if self.failure and self.failure.kind == "turns" and self.turns is None:
            notes.append("no final record")
        return notes

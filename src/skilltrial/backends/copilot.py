"""GitHub's Copilot CLI, run without a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import rooted
from skilltrial.backends._command_line import CommandLine, abilities
from skilltrial.backends._json_line import added, at, count_at, name_at, names_at, parsed, prose, text_at
from skilltrial.backends._login import Doors
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Kind, Trouble
from skilltrial.records.evidence import Usage
from skilltrial.seams import Capabilities, Job

_HINT = "set COPILOT_GITHUB_TOKEN to a fine-grained token with the permission 'Copilot Requests', or give base_url and a key"
_USAGE = "usage.json"


class Copilot(CommandLine):
    """GitHub's `copilot`, run without a terminal."""

    name: ClassVar[str] = "copilot"
    program: ClassVar[str] = "copilot"
    package: ClassVar[str] = "npm install -g @github/copilot"
    capabilities: ClassVar[Capabilities] = abilities(
        inventory=True, activation=True, tools=True, tokens=True, reasoning=True, endpoint=True, mcp=True
    )
    doors: ClassVar[Doors] = Doors(command=_HINT, variables=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"))
    key_variable: ClassVar[str] = "COPILOT_PROVIDER_API_KEY"
    usual_keys: ClassVar[tuple[str, ...]] = ("COPILOT_PROVIDER_API_KEY", "OPENAI_API_KEY")
    leaves: ClassVar[tuple[str, ...]] = (_USAGE,)
    counts: ClassVar[frozenset[str]] = frozenset({"requests"})
    home_only: ClassVar[frozenset[str]] = frozenset({"settings"})

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["--output-format", "json", "--no-ask-user", "--no-auto-update", "--log-level", "none"]
        given += ["--model", self.model] if self.model else []
        given += ["--reasoning-effort", self.reasoning_effort] if self.reasoning_effort else []
        if job.place is not None and job.own_home:
            given += ["--usage-output-file", f"{job.place.home}/{_USAGE}"]
        if job.judging:
            return (*given, "--available-tools=none", "--no-custom-instructions")
        if servers := _mocks.starts(job):
            told = {name: {"type": "local", "command": s.command, "args": s.args, "tools": ["*"]} for name, s in servers.items()}
            given += ["--additional-mcp-config", json.dumps({"mcpServers": told})]
        if self.allowed_tools:
            return (*given, "--trust-folder", *(f"--allow-tool={tool}" for tool in ("skill", *self.allowed_tools)))
        return (*given, "--allow-all")

    def environment(self, job: Job) -> Mapping[str, str]:
        url = self.endpoint_of(job)
        if not url:
            return {"COPILOT_AUTO_UPDATE": "false"}
        return {"COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": rooted(url)}

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"COPILOT_HOME": f"{home}/.copilot"}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        return {".copilot/config.json": self.merged({})} if self.settings else {}

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return CopilotReader(skills, forced=forced)


plugin = Copilot


class CopilotReader(Reader):
    """`--output-format json`: a session's events. Usage stands in a file of its own, written at the end."""

    login_hint = _HINT
    _KINDS: ClassVar[dict[str, Kind]] = {"authentication": "login", "authorization": "login", "rate_limit": "rate"}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._pieces: dict[str, str] = {}
        self._error: Trouble | None = None

    def _take(self, record: dict[str, Any]) -> None:
        data, parent = at(record, "data"), name_at(record, "data", "parentToolCallId")
        kind = text_at(record, "type")
        if kind == "assistant.message_delta":
            self._piece(data, parent)
        elif kind == "assistant.message":
            self._message(data, parent)
        elif kind == "assistant.reasoning":
            self._show("reasoning", text_at(data, "content"), parent)
        elif kind == "assistant.turn_start" and not parent:
            self.turns = (self.turns or 0) + 1
        elif kind.startswith("tool."):
            self._tool(kind, data, parent)
        elif kind.startswith("model."):
            self._model(kind, data)
        elif kind.startswith("session."):
            self._session(kind, data)
        elif kind == "result":
            self._end(record)

    # ------------------------------------------------------------ what is said and done
    def _piece(self, data: Any, parent: str | None) -> None:
        if parent is None:
            message = text_at(data, "messageId")
            self._pieces = {message: self._pieces.get(message, "") + text_at(data, "deltaContent")}

    def _message(self, data: Any, parent: str | None) -> None:
        self.model = name_at(data, "model") or self.model
        if parent is None:
            self._pieces.clear()
        if text_at(data, "content"):
            self._error = None
        self._say(text_at(data, "content"), parent)

    def _tool(self, kind: str, data: Any, parent: str | None) -> None:
        call = name_at(data, "toolCallId")
        if kind == "tool.execution_start":
            self._call(name_at(data, "toolName"), call, at(data, "arguments"), parent)
        elif kind == "tool.execution_complete":
            ok = at(data, "success") is True and at(data, "shellExecution", "exitCode") in (0, None)
            text = prose(at(data, "result")) or text_at(data, "error", "message")
            self._result(call, ok, text, parent)
            self._skill_result("skill", "skill", call, ok, text, parent)

    def _model(self, kind: str, data: Any) -> None:
        if kind == "model.call_failure":
            self._fail(Trouble(text_at(data, "errorMessage") or "a call failed", count_at(data, "statusCode")))
        elif kind == "model.call_finished" and text_at(data, "outcome") == "success":
            self.requests = (self.requests or 0) + 1

    # ------------------------------------------------------------ the session
    def _session(self, kind: str, data: Any) -> None:
        if kind == "session.skills_loaded":
            self.inventory = self.inventory.model_copy(update={"skills": names_at(data, "skills")})
        elif kind == "session.mcp_servers_loaded":
            self.inventory = self.inventory.model_copy(update={"mcp_servers": names_at(data, "servers")})
        elif kind == "session.error":
            found = self._KINDS.get(text_at(data, "errorType"))
            self._error = Trouble(text_at(data, "message"), count_at(data, "statusCode"), found)
            self._add(kind="error", text=str(self._error))

    def _end(self, record: dict[str, Any]) -> None:
        self.ended = True
        if self._error or at(record, "exitCode") not in (0, None):
            self.failure = self._error or Trouble(f"it says it ended with status {at(record, 'exitCode')}")

    def file(self, name: str, data: bytes) -> None:
        """The usage of all models together; its input holds what was read from a cache."""
        models = at(parsed(b" ".join(data.split())), "modelMetrics")
        rows = [at(row, "usage") for row in models.values()] if isinstance(models, dict) else []
        if not any(count_at(row, "outputTokens") or count_at(row, "inputTokens") for row in rows):
            return
        self.usage = Usage(
            input_tokens=added(*(count_at(row, "inputTokens") for row in rows)),
            cached_tokens=added(*(count_at(row, "cacheReadTokens") for row in rows)),
            cache_write_tokens=added(*(count_at(row, "cacheWriteTokens") for row in rows)),
            output_tokens=added(*(count_at(row, "outputTokens") for row in rows)),
            reasoning_tokens=added(*(count_at(row, "reasoningTokens") for row in rows)),
        )

    def _finish(self, complaint: str) -> None:
        for text in self._pieces.values():
            self._say(text)

"""OpenAI's Codex, run without a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import rooted
from skilltrial.backends._command_line import ENDPOINT_KEY, CommandLine, abilities
from skilltrial.backends._json_line import at, count_at, name_at, prose, rows_at, text_at
from skilltrial.backends._login import Doors, Kept, codex_copy
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Trouble
from skilltrial.records.evidence import Usage
from skilltrial.seams import Capabilities, Job, Stop

_HINT = "run `codex login` (or `printenv OPENAI_API_KEY | codex login --with-api-key`), or set CODEX_API_KEY"
_PROVIDER = "endpoint"
_WITHOUT_TOOLS = {
    "skills.include_instructions": False, "project_doc_max_bytes": 0, "web_search": "disabled", "features.shell_tool": False,
    "features.unified_exec": False, "features.goals": False, "features.multi_agent": False, "features.view_image": False,
    "tools.experimental_request_user_input.enabled": False,
}  # fmt: skip
"""With these its model is offered no tool at all."""


class Codex(CommandLine):
    """OpenAI's `codex exec`, run without a terminal."""

    name: ClassVar[str] = "codex"
    program: ClassVar[str] = "codex"
    package: ClassVar[str] = "npm install -g @openai/codex"
    capabilities: ClassVar[Capabilities] = abilities(
        activation=True,
        tools=True,
        tokens=True,
        reasoning=True,
        endpoint=True,
        mcp=True,
        prices="openai",
        memory=False,  # its own sandbox has a `/dev` of its own: below `/dev/shm` all commands of the model fail, and leave no event
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT, variables=("CODEX_API_KEY",), files=(Kept(".codex/auth.json", codex_copy, "CODEX_HOME"),)
    )
    usual_hosts: ClassVar[tuple[str, ...]] = ("api.openai.com:443", "chatgpt.com:443")
    usual_keys: ClassVar[tuple[str, ...]] = ("CODEX_API_KEY", "OPENAI_API_KEY")
    lists_tools: ClassVar[bool] = False

    bundled_skills: bool = False
    """Keep the skills that come with the program beside the ones under test."""

    def arguments(self, job: Job) -> tuple[str, ...]:
        """Its own sandbox stays on where we put no walls around it."""
        given = ["exec", "--json", "--ephemeral", "--skip-git-repo-check"]
        given += ["-m", self.model] if self.model else []
        if job.judging:
            given += ["-s", "read-only"]
        elif job.place is not None and job.place.level == "none":
            # else it makes /tmp/.git for as long as a command runs, and leaves it there when it is killed
            given += ["-s", "workspace-write", "-c", "sandbox_workspace_write.exclude_slash_tmp=true"]
        else:
            given += ["--dangerously-bypass-approvals-and-sandbox"]
        given += ["--disable", "plugins", "--disable", "apps"]
        for key, value in self._config(job).items():
            given += ["-c", f"{key}={json.dumps(value)}"]  # a JSON string, number, boolean or list is TOML too
        return (*given, "-")

    def _config(self, job: Job) -> dict[str, Any]:
        config: dict[str, Any] = {"analytics.enabled": False, "check_for_update_on_startup": False}
        config |= {} if self.bundled_skills else {"skills.bundled.enabled": False}
        config |= {"model_reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {}
        config |= _WITHOUT_TOOLS if job.judging else {}
        for name, server in _mocks.starts(job).items():
            config |= {
                f"mcp_servers.{name}.command": server.command,
                f"mcp_servers.{name}.args": server.args,
                f"mcp_servers.{name}.default_tools_approval_mode": "approve",  # nobody is there to be asked
            }
        if url := self.endpoint_of(job):
            there = f"model_providers.{_PROVIDER}"
            config |= {
                "model_provider": _PROVIDER,
                f"{there}.name": _PROVIDER,
                f"{there}.base_url": rooted(url),
                f"{there}.env_key": ENDPOINT_KEY if self.base_url else self.own_key(),
                f"{there}.wire_api": "responses",
                f"{there}.request_max_retries": 1,
                f"{there}.stream_max_retries": 1,
            }
        return {**config, **_flat(self.settings)}

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"CODEX_HOME": f"{home}/.codex"}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        """The folder has to be there; a file in it makes it."""
        return {".codex/.keep": b""}

    def force(self, skill: str, task: str) -> str:
        return f"${skill} {task}"

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return CodexReader(skills, forced=forced)


plugin = Codex


class CodexReader(Reader):
    """`codex exec --json`: threads, turns and items. It has no event for skills: their files are read by a shell command."""

    login_hint = _HINT
    noise: ClassVar[re.Pattern[str] | None] = re.compile(
        r"^Reading (additional input|prompt) from stdin|could not create PATH aliases|ERROR codex_core::tools::router"
    )
    _PATIENCE = 3
    """Failed connections in a row after which waiting is no use: it would go on without end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._offline = 0

    def _take(self, record: dict[str, Any]) -> None:
        kind = text_at(record, "type")
        if kind.startswith("item."):
            self._item(kind.removeprefix("item."), at(record, "item"))
        elif kind == "turn.started":
            self.ended, self.failure = False, None
        elif kind == "turn.completed":
            self.ended, self.failure = True, None
            self._total(at(record, "usage"))
        elif kind == "turn.failed":
            self.ended, self.failure = True, Trouble(text_at(record, "error", "message") or "the turn failed")
        elif kind == "error":
            self._error(text_at(record, "message"))

    def _error(self, message: str) -> None:
        self._fail(Trouble(message))
        self._offline = self._offline + 1 if "waiting for network" in message else 0
        if self._offline >= self._PATIENCE and not self.reached:
            self.doom = Stop("infrastructure_error", f"it waits for the network without end: {message}")

    def _total(self, usage: Any) -> None:
        """Running totals of the thread: the last record holds."""
        if not count_at(usage, "output_tokens") and not count_at(usage, "input_tokens"):
            return
        self.reached = True
        self.usage = Usage(
            input_tokens=count_at(usage, "input_tokens"),
            cached_tokens=count_at(usage, "cached_input_tokens"),
            cache_write_tokens=count_at(usage, "cache_write_input_tokens"),
            output_tokens=count_at(usage, "output_tokens"),
            reasoning_tokens=count_at(usage, "reasoning_output_tokens"),
        )

    # ------------------------------------------------------------ items
    def _item(self, stage: str, item: Any) -> None:
        kind, call = text_at(item, "type"), name_at(item, "id")
        if kind == "agent_message":
            if stage == "completed":
                self._said(text_at(item, "text"))
        elif kind == "reasoning":
            self._show("reasoning", text_at(item, "text"))
        elif kind == "error":
            self._show("warning", text_at(item, "message"))  # of an unknown model's settings, of a fallback: the run goes on
        elif kind in ("command_execution", "file_change", "mcp_tool_call", "web_search", "collab_tool_call"):
            self._tool(kind, stage, call, item)

    def _said(self, text: str) -> None:
        if text:
            self._say(text)
        else:
            self._replied()
            self.answer = ""

    def _tool(self, kind: str, stage: str, call: str | None, item: Any) -> None:
        self.blind = self.blind or kind == "collab_tool_call"
        if call not in self._calls:
            self._call(_tool_name(kind, item), call, _arguments(kind, item))
        if stage == "completed":
            code = at(item, "exit_code")
            ok = text_at(item, "status") in ("completed", "") and code in (0, None)
            self._result(
                call, ok, text_at(item, "aggregated_output") or prose(at(item, "result")) or text_at(item, "error", "message")
            )


def _tool_name(kind: str, item: Any) -> str:
    """Of an MCP tool with its server, as `mcp__<server>__<tool>`."""
    name, server = name_at(item, "tool") or kind, name_at(item, "server")
    return f"mcp__{server}__{name}" if kind == "mcp_tool_call" and server else name


def _arguments(kind: str, item: Any) -> Any:
    if kind == "command_execution":
        return {"command": text_at(item, "command")}
    if kind == "file_change":
        return {"changes": [{"path": text_at(row, "path"), "kind": text_at(row, "kind")} for row in rows_at(item, "changes")]}
    if kind == "web_search":
        return {"query": text_at(item, "query")}
    return at(item, "arguments")


def _flat(settings: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Nested settings as dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= _flat(value, f"{head}{key}.") if isinstance(value, dict) else {f"{head}{key}": value}
    return flat

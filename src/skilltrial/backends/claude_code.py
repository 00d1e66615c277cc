"""Anthropic's Claude Code, run without a terminal."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import bare
from skilltrial.backends._command_line import CommandLine, abilities
from skilltrial.backends._json_line import added, amount_at, at, count_at
from skilltrial.backends._login import Doors, Kept, claude_token
from skilltrial.backends._messages import MessagesReader, total
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Kind
from skilltrial.records.evidence import Usage
from skilltrial.seams import Capabilities, Job

_HINT = "run `claude setup-token` and set CLAUDE_CODE_OAUTH_TOKEN to what it prints, or set ANTHROPIC_API_KEY"

_SERVERS_FIRST = {"MCP_CONNECTION_NONBLOCKING": "0", "ENABLE_TOOL_SEARCH": "false"}
"""MCP servers are there before the first request, and their tools are offered with the others instead of being searched for."""


class ClaudeCode(CommandLine):
    """Anthropic's `claude`, run without a terminal."""

    name: ClassVar[str] = "claude-code"
    program: ClassVar[str] = "claude"
    package: ClassVar[str] = "npm install -g @anthropic-ai/claude-code@latest"
    skill_dir: ClassVar[str] = ".claude/skills"
    capabilities: ClassVar[Capabilities] = abilities(
        inventory=True,
        activation=True,
        tools=True,
        tokens=True,
        cost=True,
        turns=True,
        reasoning=True,
        endpoint=True,
        mcp=True,
        prices="anthropic",
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT,
        variables=("CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        clouds={
            "CLAUDE_CODE_USE_BEDROCK": (
                "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK",
            ),
            "CLAUDE_CODE_USE_VERTEX": ("CLOUD_ML_REGION", "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_APPLICATION_CREDENTIALS"),
        },
        files=(Kept(".claude/.credentials.json", claude_token, "CLAUDE_CONFIG_DIR"),),
        keychain=("Claude Code-credentials", claude_token),
    )  # fmt: skip
    usual_hosts: ClassVar[tuple[str, ...]] = ("api.anthropic.com:443",)
    key_variable: ClassVar[str] = "ANTHROPIC_API_KEY"
    usual_keys: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
    keeps: ClassVar[frozenset[str]] = frozenset({"max_turns", "max_cost_usd"})
    counts: ClassVar[frozenset[str]] = frozenset({"requests", "tokens"})
    home_only: ClassVar[frozenset[str]] = frozenset({"settings"})

    bundled_skills: bool = False
    """Keep the skills that come with the program, some seventeen, beside the ones under test."""

    def own_key(self) -> str:
        return "ANTHROPIC_API_KEY"

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["-p", "--output-format", "stream-json", "--verbose", "--no-session-persistence"]
        given += ["--model", self.model] if self.model else []
        given += ["--effort", self.reasoning_effort] if self.reasoning_effort else []
        given += ["--max-turns", str(job.limits.max_turns)] if job.limits.max_turns is not None else []
        given += self._servers(job)
        given += ["--max-budget-usd", f"{job.limits.max_cost_usd:g}"] if job.limits.max_cost_usd is not None else []
        if job.judging:
            return (*given, "--tools", "", "--disable-slash-commands")
        if self.allowed_tools:
            allowed = ("Skill", *self.allowed_tools, *(f"mcp__{server.name}" for server in job.mocks))
            return (*given, "--permission-mode", "dontAsk", "--allowedTools", ",".join(allowed))
        return (*given, "--dangerously-skip-permissions")

    def _servers(self, job: Job) -> list[str]:
        servers = {name: {"type": "stdio", "command": s.command, "args": s.args} for name, s in _mocks.starts(job).items()}
        return ["--mcp-config", json.dumps({"mcpServers": servers}), "--strict-mcp-config"] if servers else []

    def environment(self, job: Job) -> Mapping[str, str]:
        url = self.endpoint_of(job)
        return {
            "CLAUDE_CODE_MAX_RETRIES": "0",  # an outage is told of and tried again by us, once
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            **(_SERVERS_FIRST if job.mocks else {}),
            **({} if self.bundled_skills else {"CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1"}),
            **({"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"} if job.judging else {}),
            **({"IS_SANDBOX": "1"} if _is_root() else {}),  # else it refuses to skip permissions as root
            **({"ANTHROPIC_BASE_URL": bare(url, "/v1")} if url else {}),
        }

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"CLAUDE_CONFIG_DIR": f"{home}/.claude"}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        return {".claude/settings.json": self.merged({})} if self.settings else {}

    def force(self, skill: str, task: str) -> str:
        return f"/{skill} {task}"

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return ClaudeReader(skills, forced=forced)


plugin = ClaudeCode


class ClaudeReader(MessagesReader):
    """`--output-format stream-json`."""

    version_key: ClassVar[str] = "claude_code_version"
    skill_tool: ClassVar[str] = "Skill"
    login_hint = _HINT
    noise: ClassVar[re.Pattern[str] | None] = re.compile(r"^(Could not parse message into JSON|From chunk: )")
    limits: ClassVar[dict[str, Kind]] = {
        "error_max_turns": "turns",
        "error_max_budget_usd": "budget",
        "prompt_too_long": "overflow",
        "max_output_tokens": "length",
    }

    def _totals(self, record: dict[str, Any]) -> None:
        """The sum per model counts sub-agents and side calls, which `usage` leaves out."""
        super()._totals(record)
        models = at(record, "modelUsage")
        rows = [_of_model(row) for row in models.values()] if isinstance(models, dict) else []
        whole = total(rows)
        if whole.output_tokens or whole.input_tokens:
            cost = amount_at(record, "total_cost_usd")
            self.usage = whole.model_copy(update={"cost_usd": cost, "cost_source": None if cost is None else "cli"})


def _of_model(row: Any) -> Usage:
    cached, written = count_at(row, "cacheReadInputTokens"), count_at(row, "cacheCreationInputTokens")
    return Usage(
        input_tokens=added(count_at(row, "inputTokens"), cached, written),
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=count_at(row, "outputTokens"),
        reasoning_tokens=count_at(row, "thinkingTokens"),
    )


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0

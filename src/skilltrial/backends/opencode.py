"""OpenCode, run without a terminal."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends import _mocks
from skilltrial.backends._address import rooted
from skilltrial.backends._command_line import ENDPOINT_KEY, CommandLine, abilities, over
from skilltrial.backends._json_line import added, amount_at, at, count_at, name_at, text_at
from skilltrial.backends._login import Doors, Kept, providers_copy
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Kind, Trouble
from skilltrial.records.evidence import Usage
from skilltrial.seams import Capabilities, Job, Machine, Stop
from skilltrial.system.files import read_capped, write_new

_AUTH = ".local/share/opencode/auth.json"
_HINT = "run `opencode auth login`, or set the key of its provider, as ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY"
_PROVIDER = "endpoint"
_RIPGREP = ".cache/opencode/bin/rg"
_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY",
    "google": "GOOGLE_GENERATIVE_AI_API_KEY", "opencode": "OPENCODE_API_KEY", "groq": "GROQ_API_KEY",
    "mistral": "MISTRAL_API_KEY", "xai": "XAI_API_KEY", "deepseek": "DEEPSEEK_API_KEY",
}  # fmt: skip


class OpenCode(CommandLine):
    """`opencode run`, without a terminal."""

    name: ClassVar[str] = "opencode"
    program: ClassVar[str] = "opencode"
    package: ClassVar[str] = "npm install -g opencode-ai"
    capabilities: ClassVar[Capabilities] = abilities(
        activation=True, tools=True, tokens=True, cost=True, reasoning=True, endpoint=True, mcp=True, prices="model"
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT, variables=tuple(_KEYS.values()), files=(Kept(_AUTH, providers_copy(_AUTH), "OPENCODE_DATA_DIR"),)
    )

    counts: ClassVar[frozenset[str]] = frozenset({"requests", "tokens", "cost"})

    def own_key(self) -> str:
        return _KEYS.get((self.model or "").partition("/")[0], "OPENAI_API_KEY")

    def ways_in(self) -> Doors:
        """A model that names its provider needs that one's key."""
        known = _KEYS.get((self.model or "").partition("/")[0])
        return replace(self.doors, variables=(known,)) if known else self.doors

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["run", "--format", "json", "--title", "skilltrial"]  # a title spares a model call for one
        if self.model:
            given += ["--model", f"{_PROVIDER}/{self.model}" if self.endpoint_of(job) else self.model]
        given += ["--variant", self.reasoning_effort] if self.reasoning_effort else []
        given += ["--command", job.skills[0].name] if job.forced and job.skills else []
        return tuple(given) if job.judging or self.allowed_tools else (*given, "--auto")

    def environment(self, job: Job) -> Mapping[str, str]:
        return {
            "OPENCODE_CONFIG_CONTENT": json.dumps(over(self._config(job), self.settings)),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "npm_config_offline": "true",  # else it installs a package into every fresh home
        }

    def _config(self, job: Job) -> dict[str, Any]:
        config: dict[str, Any] = {"autoupdate": False, "share": "disabled"}
        if job.judging:
            config["permission"] = {"*": "deny"}
        elif self.allowed_tools:
            config["permission"] = {"*": "deny", "skill": "allow", **dict.fromkeys(self.allowed_tools, "allow")}
        if servers := _mocks.starts(job):
            config["mcp"] = {name: {"type": "local", "command": [s.command, *s.args]} for name, s in servers.items()}
        url = self.endpoint_of(job)
        if url and self.model:
            key = ENDPOINT_KEY if self.base_url else self.own_key()
            options = {"baseURL": rooted(url), "apiKey": f"{{env:{key}}}"}
            models = {self.model: {"name": self.model}}
            config["provider"] = {
                _PROVIDER: {"npm": "@ai-sdk/openai-compatible", "name": _PROVIDER, "options": options, "models": models}
            }
        return config

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_STATE_HOME": f"{home}/.local/state",
        }

    def furnish(self, home: Path, machine: Machine) -> tuple[str, ...]:
        """Its skill tool runs ripgrep, and what it once loaded lies in the user's home."""
        if shutil.which("rg", path=machine.environ.get("PATH", os.defpath)):
            return ()
        own = machine.environ.get("HOME")
        read = read_capped(Path(own) / _RIPGREP, 1 << 26) if own else None
        if read and not read.truncated:
            write_new(home / _RIPGREP, read.data, None, executable=True)
            return ()
        return ("rg (ripgrep) is not on PATH: opencode loads it from the network, and without it cannot load a skill",)

    def force(self, skill: str, task: str) -> str:
        return task  # its arguments call for the skill

    def missing(self, job: Job) -> tuple[str, ...]:
        unnamed = self.endpoint_of(job) and not self.model
        named = ("opencode needs a model to call base_url: it is not passed on",) if unnamed else ()
        return (*super().missing(job), *named)

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        return OpenCodeReader(skills, forced=forced)


plugin = OpenCode


class OpenCodeReader(Reader):
    """`opencode run --format json`: finished parts only, and steps that each bring their own usage.

    What a sub-agent does, its tokens and its cost are not shown.
    """

    login_hint = _HINT
    _KINDS: ClassVar[dict[str, Kind]] = {
        "ContextOverflowError": "overflow", "ContentFilterError": "refusal", "ProviderModelNotFoundError": "model",
        "ProviderAuthError": "login", "MessageOutputLengthError": "length",
    }  # fmt: skip
    _ENDS: ClassVar[dict[str, Kind | None]] = {"stop": None, "length": "length", "content-filter": "refusal"}
    _PATIENCE = 5
    """Equal failures after which waiting is no use: it has no limit of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._answer_of: str | None = None
        self._failed = {"infrastructure_error": 0, "agent_error": 0}

    def _take(self, record: dict[str, Any]) -> None:
        kind, part = text_at(record, "type"), at(record, "part")
        if kind == "text":
            self._part(part)
        elif kind == "reasoning":
            self._show("reasoning", text_at(part, "text"))
        elif kind == "tool_use":
            self._tool(part)
        elif kind == "step_start":
            self.ended, self.failure = False, None
        elif kind == "step_finish":
            self._step(part)
        elif kind == "error":
            self._error(at(record, "error") or record)

    def _part(self, part: Any) -> None:
        text, message = text_at(part, "text"), text_at(part, "messageID")
        if at(part, "synthetic") is True:
            self._show("user", text)
            return
        before = self.answer if message == self._answer_of else ""
        self._say(text)
        self.answer, self._answer_of = f"{before}\n{text}" if before else text, message

    def _tool(self, part: Any) -> None:
        name, call, state = text_at(part, "tool"), name_at(part, "callID"), at(part, "state")
        arguments = at(state, "input")
        shown = text_at(arguments, "tool") if name == "invalid" else name
        self._call(shown or name, call, arguments)
        status = text_at(state, "status")
        ok = status == "completed" and at(state, "metadata", "exit") in (0, None) and name != "invalid"
        text = text_at(state, "output") or text_at(state, "error")
        self._result(call, ok, text)
        self._skill_result("skill", "name", call, ok, text)
        self.blind = self.blind or name == "task"

    def _step(self, part: Any) -> None:
        reason, tokens = text_at(part, "reason"), at(part, "tokens")
        if count_at(tokens, "output") or count_at(tokens, "input"):
            self.reached, self._failed["infrastructure_error"] = True, 0
            self.requests = (self.requests or 0) + 1
            self.usage = _more(self.usage, tokens, amount_at(part, "cost"))
        elif reason == "unknown":
            self._stuck("the endpoint's answers are cut or are none", "infrastructure_error")
        if reason in self._ENDS:
            kind = self._ENDS[reason]
            self.ended, self.failure = True, Trouble(f"the last step ended with '{reason}'", kind=kind) if kind else None

    def _error(self, error: Any) -> None:
        name = text_at(error, "name")
        message = text_at(error, "data", "message") or text_at(error, "message") or name or "an error"
        trouble = Trouble(message, count_at(error, "data", "statusCode"), self._KINDS.get(name))
        self._fail(trouble)
        self.ended, self.failure = True, trouble
        if trouble.what() == "overflow":
            self._stuck(str(trouble), "agent_error")

    def _stuck(self, what: str, outcome: str) -> None:
        self._failed[outcome] += 1
        if self._failed[outcome] >= self._PATIENCE:
            self.doom = Stop(outcome, f"{what}, {self._failed[outcome]} times: it would go on without end")


def _more(sofar: Usage, tokens: Any, cost: float | None) -> Usage:
    """The sum with one step more; a cost of nothing for tokens that were used is a price it does not know."""
    cached, written = count_at(tokens, "cache", "read"), count_at(tokens, "cache", "write")
    reasoning = count_at(tokens, "reasoning")
    whole = (sofar.cost_usd or 0.0) + (cost or 0.0)
    return Usage(
        input_tokens=added(sofar.input_tokens, count_at(tokens, "input"), cached, written),
        cached_tokens=added(sofar.cached_tokens, cached),
        cache_write_tokens=added(sofar.cache_write_tokens, written),
        output_tokens=added(sofar.output_tokens, count_at(tokens, "output"), reasoning),
        reasoning_tokens=added(sofar.reasoning_tokens, reasoning),
        cost_usd=whole or None,
        cost_source="cli" if whole else None,
    )

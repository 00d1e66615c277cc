"""pi, Mario Zechner's coding agent, run without a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from skilltrial.backends._address import rooted
from skilltrial.backends._command_line import ENDPOINT_KEY, CommandLine, abilities
from skilltrial.backends._json_line import added, amount_at, at, count_at, name_at, prose, rows_at, text_at
from skilltrial.backends._login import Doors, Kept, providers_copy
from skilltrial.backends._stream import Reader
from skilltrial.backends._verdict import Trouble
from skilltrial.records.evidence import Event, Usage
from skilltrial.seams import Capabilities, Job

_AUTH = ".pi/agent/auth.json"
_HINT = "start `pi` once and type /login, or set the key of its provider, as ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY"
_PROVIDER = "endpoint"
_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY", "groq": "GROQ_API_KEY", "mistral": "MISTRAL_API_KEY", "xai": "XAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY", "cerebras": "CEREBRAS_API_KEY", "zai": "ZAI_API_KEY",
}  # fmt: skip
_COUNTING = frozenset({"anthropic", "openai", "google", "openrouter"})
"""Providers that close every answer with its usage."""
_TOKENS = {"anthropic": ("ANTHROPIC_OAUTH_TOKEN",)}


class Pi(CommandLine):
    """`pi`, run without a terminal; it has no prompts for permission and no walls of its own."""

    name: ClassVar[str] = "pi"
    program: ClassVar[str] = "pi"
    package: ClassVar[str] = "npm install -g @mariozechner/pi-coding-agent"
    capabilities: ClassVar[Capabilities] = abilities(
        activation=True, tools=True, tokens=True, cost=True, reasoning=True, endpoint=True, prices="model"
    )
    doors: ClassVar[Doors] = Doors(
        command=_HINT,
        variables=(*_TOKENS["anthropic"], *_KEYS.values()),
        files=(Kept(_AUTH, providers_copy(_AUTH)),),
    )

    counts: ClassVar[frozenset[str]] = frozenset({"requests", "tokens", "cost"})
    home_only: ClassVar[frozenset[str]] = frozenset({"settings", "base_url"})

    def own_key(self) -> str:
        return _KEYS.get((self.model or "").partition("/")[0], "OPENAI_API_KEY")

    def ways_in(self) -> Doors:
        """A model that names its provider needs that one's key."""
        provider = (self.model or "").partition("/")[0]
        if provider not in _KEYS:
            return self.doors
        return replace(self.doors, variables=(*_TOKENS.get(provider, ()), _KEYS[provider]))

    def arguments(self, job: Job) -> tuple[str, ...]:
        given = ["-p", "--mode", "json", "--no-session", "--offline"]
        given += ["--provider", _PROVIDER] if self.endpoint_of(job) and self.model else []
        given += ["--model", self.model] if self.model else []
        given += ["--thinking", self.reasoning_effort] if self.reasoning_effort else []
        if job.judging:
            return (*given, "--no-tools", "--no-skills", "--no-context-files")
        return (*given, "--tools", ",".join(self.allowed_tools)) if self.allowed_tools else tuple(given)

    def environment(self, job: Job) -> Mapping[str, str]:
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}

    def isolation(self, home: Path) -> Mapping[str, str]:
        return {"PI_CODING_AGENT_DIR": f"{home}/.pi/agent"}

    def home_files(self, job: Job) -> Mapping[str, bytes]:
        files = {".pi/agent/settings.json": self.merged({"retry": {"maxRetries": 1}})}
        url = self.endpoint_of(job)
        if url and self.model:
            files[".pi/agent/models.json"] = CommandLine.merged(Pi(), {"providers": {_PROVIDER: self._provider(url)}})
        return files

    def _provider(self, url: str) -> dict[str, Any]:
        """Where a key is wanted it takes the name of a variable as well."""
        key = ENDPOINT_KEY if self.base_url else self.own_key()
        model = {"id": self.model, "name": self.model, "reasoning": bool(self.reasoning_effort)}
        return {"baseUrl": rooted(url), "apiKey": key, "api": "openai-completions", "models": [model]}

    def missing(self, job: Job) -> tuple[str, ...]:
        unnamed = self.endpoint_of(job) and not self.model
        named = ("pi needs a model to call base_url: it is not passed on",) if unnamed else ()
        return (*super().missing(job), *named)

    def force(self, skill: str, task: str) -> str:
        return f"/skill:{skill} {task}"

    def reader(self, skills: Sequence[str] = (), *, forced: bool = False) -> Reader:
        reader = PiReader(skills, forced=forced)
        reader.counted = not self.base_url and (self.model or "").partition("/")[0] in _COUNTING
        return reader


plugin = Pi


class PiReader(Reader):
    """`--mode json`. Status 0 on every failure; each answer of the model brings its own usage.

    A stream that was cut looks like an answer that ended: all that is missing is the usage, which comes last. Where answers
    bring theirs, one without it is a cut one; an endpoint that never tells any leaves that open, and a warning says so.
    """

    login_hint = _HINT
    counted = False
    """Answers are known to bring their usage."""
    _CUT = "the last answer came without its usage, as one does whose stream was cut"

    def feed(self, line: bytes, at_s: float | None = None) -> tuple[Event, ...]:
        """Updates repeat all of a message that comes whole later, so they are not even parsed."""
        return () if line.startswith(b'{"type":"message_update"') else super().feed(line, at_s)

    def _take(self, record: dict[str, Any]) -> None:
        kind = text_at(record, "type")
        if kind == "agent_start":
            self.ended, self.failure = False, None
        elif kind == "turn_start":
            self.turns = (self.turns or 0) + 1
        elif kind == "message_end" and text_at(record, "message", "role") == "assistant":
            self._message(at(record, "message"))
        elif kind == "tool_execution_start":
            self._call(name_at(record, "toolName"), name_at(record, "toolCallId"), at(record, "args"))
        elif kind == "tool_execution_end":
            self._result(name_at(record, "toolCallId"), at(record, "isError") is not True, prose(at(record, "result")))
        elif kind == "agent_end":
            self.ended = True

    def _message(self, message: Any) -> None:
        self.model = name_at(message, "model") or self.model
        self._more(at(message, "usage"))
        for block in rows_at(message, "content"):
            if text_at(block, "type") == "text":
                self._say(text_at(block, "text"))
            elif text_at(block, "type") == "thinking":
                self._show("thinking", text_at(block, "thinking"))
        self.failure = None
        reason = text_at(message, "stopReason")
        bare = not count_at(message, "usage", "output") and not count_at(message, "usage", "input")
        if bare and reason == "stop":
            self._without_usage()
        if reason in ("error", "aborted"):
            self.failure = Trouble(text_at(message, "errorMessage") or reason)
            self._fail(self.failure)
        elif reason == "length":
            self.failure = Trouble("the answer reached the model's limit of output", kind="length")

    def _without_usage(self) -> None:
        if self.counted or self.requests:
            self.failure = Trouble(self._CUT)
            self._fail(self.failure)
        else:
            self._warn(self._CUT)

    def _more(self, tokens: Any) -> None:
        """One answer more; a cost of nothing for tokens that were used is a price it does not know."""
        if not count_at(tokens, "output") and not count_at(tokens, "input"):
            return
        self.reached = True
        self.requests = (self.requests or 0) + 1
        sofar, cached, written = self.usage, count_at(tokens, "cacheRead"), count_at(tokens, "cacheWrite")
        whole = (sofar.cost_usd or 0.0) + (amount_at(tokens, "cost", "total") or 0.0)
        self.usage = Usage(
            input_tokens=added(sofar.input_tokens, count_at(tokens, "input"), cached, written),
            cached_tokens=added(sofar.cached_tokens, cached),
            cache_write_tokens=added(sofar.cache_write_tokens, written),
            output_tokens=added(sofar.output_tokens, count_at(tokens, "output")),
            cost_usd=whole or None,
            cost_source="cli" if whole else None,
        )

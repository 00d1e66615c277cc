"""A call that brought no answer, in one sentence: what happened, where, and what to do."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from skilltrial.chat.retry import REFUSALS, retryable
from skilltrial.records.evidence import Outcome
from skilltrial.system.addresses import parts_of

_OVERFLOW = re.compile(
    r"context[ _]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|input is too long|"
    r"exceeds? the (available|maximum) (context|number of tokens)",
    re.I,
)
_MODEL = re.compile(r"model.{0,120}?(not found|does not exist|not exist|not a valid|unknown|not available|no longer)|"
                    r"(unknown|invalid|no such|unsupported) model|not a valid model|model_not_found", re.I | re.S)  # fmt: skip
_FILTER = re.compile(r"content[_ ](filter|policy|management)|responsibleai|safety system", re.I)
_FUNDS = re.compile(r"insufficient[_ ](quota|credits?|balance|funds)|credit balance|exceeded your current quota|billing", re.I)
_LONGEST_MESSAGE = 300


class Failure(NamedTuple):
    """Why there is no answer. `reason` never reaches a grader."""

    outcome: Outcome
    reason: str
    setup: bool = False
    retryable: bool = False
    refused: bool = False
    """The endpoint said that this was too much at once."""
    retry_after_s: float | None = None
    page: bytes = b""
    """Head of what came instead of an answer."""
    interrupted: bool = False


@lru_cache(maxsize=256)
def shown(url: str) -> str:
    """The URL without user, password, query and fragment."""
    parts = parts_of(url)
    host = parts.hostname or ""
    if not host:
        return url.rpartition("@")[2]
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


class Said(NamedTuple):
    """What an error body says."""

    message: str
    code: str
    """Code and type together, lower case."""
    parameter: str | None


def said(data: Any) -> Said:
    """Reads the error shapes of OpenAI, Anthropic, OpenRouter, Ollama, FastAPI (vLLM) and llama.cpp."""
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return Said("", "", None)
    error = data.get("error", data)
    if isinstance(error, str):
        return Said(_short(error), "", None)
    if not isinstance(error, dict):
        return Said("", "", None)
    detail = error.get("detail")
    message = error.get("message") or (detail if isinstance(detail, str) else "")
    parameter = error.get("param")
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        message = str(detail[0].get("msg", ""))
        place = [part for part in detail[0].get("loc", []) if part != "body"]
        parameter = str(place[0]) if place else None
    inner = error.get("metadata")
    if isinstance(inner, dict) and isinstance(inner.get("raw"), str):
        message = f"{message}: {inner['raw']}"
    code = f"{error.get('code') or ''} {error.get('type') or ''}".lower()
    return Said(_short(str(message)), code, parameter if isinstance(parameter, str) else None)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_MESSAGE else f"{flat[:_LONGEST_MESSAGE]}…"


def of_status(status: int, error: Said, *, url: str, model: str | None, key_name: str | None) -> Failure:
    """Maps an HTTP status and what the provider said to an outcome and one sentence."""
    where = f"{shown(url)} answered {status}"
    quote = f" ({error.message})" if error.message else ""
    words = f"{error.code} {error.message}"
    key = f"the key in {key_name}" if key_name else "the key"
    if status == 401:
        wanted = "the server wants a key: name its variable with --api-key-env, a judge's with --judge-api-key-env"
        todo = f"check {key}" if key_name else wanted
        return Failure("infrastructure_error", f"{where}: not let in{quote}; {todo}", setup=True)
    if status == 402 or _FUNDS.search(words):
        return Failure(
            "infrastructure_error",
            f"{where}: the account has no credit or quota left{quote}; top it up or use another key",
            setup=True,
        )
    if status == 403:
        return Failure("infrastructure_error", f"{where}: forbidden{quote}; {key} may not use model '{model}' here", setup=True)
    if status in (400, 404, 422) and _MODEL.search(words):
        return Failure(
            "infrastructure_error", f"{where}: model '{model}' is not known there{quote}; check the model's name", setup=True
        )
    if status in (404, 405):
        return Failure(
            "infrastructure_error", f"{where}: nothing is served there{quote}; check the base URL{_path_hint(url)}", setup=True
        )
    if status == 413 or (status in (400, 422, 500) and _OVERFLOW.search(words)):
        return Failure("agent_error", f"{where}: the request is longer than the model takes{quote}")
    if status == 400 and _FILTER.search(words):
        return Failure("agent_error", f"{where}: the provider's content filter refused the prompt{quote}")
    if 300 <= status < 400:
        return Failure("infrastructure_error", f"{where}: it redirects; give the final address as base URL", setup=True)
    what = ": too many requests" if status == 429 else ""
    return Failure("infrastructure_error", f"{where}{what}{quote}", retryable=retryable(status), refused=status in REFUSALS)


def _path_hint(url: str) -> str:
    """Most servers want `/v1`, which is easily left out."""
    path = parts_of(url).path
    if path in ("/chat/completions", "/v1/chat/completions/v1/chat/completions"):
        return "; most servers want one that ends in /v1"
    return ""

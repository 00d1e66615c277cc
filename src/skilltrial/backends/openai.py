"""Any endpoint that speaks OpenAI's chat completions: OpenAI, OpenRouter, Ollama, vLLM, llama.cpp."""

from __future__ import annotations

from typing import ClassVar

from skilltrial.backends._http import HttpTarget
from skilltrial.chat import openai as wire
from skilltrial.chat.wire import Wire
from skilltrial.records.record import JsonObject
from skilltrial.system.addresses import parts_of


class OpenAI(HttpTarget):
    """A model behind `POST {base_url}/chat/completions`."""

    name: ClassVar[str] = "openai"
    wire: ClassVar[Wire] = wire
    address_variable: ClassVar[str] = "OPENAI_BASE_URL"
    default_address: ClassVar[str] = "https://api.openai.com/v1"
    default_key: ClassVar[str] = "OPENAI_API_KEY"

    reasoning_effort: str | None = None
    """Sent as the parameter of that name."""

    def request_params(self) -> JsonObject:
        return {**({"reasoning_effort": self.reasoning_effort} if self.reasoning_effort else {}), **self.params}

    def default_key_for(self, address: str) -> str:
        """OpenRouter's keys have a variable of their own."""
        host = parts_of(address).hostname or ""
        return "OPENROUTER_API_KEY" if host == "openrouter.ai" or host.endswith(".openrouter.ai") else self.default_key


plugin = OpenAI

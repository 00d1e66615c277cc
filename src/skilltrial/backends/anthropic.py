"""Anthropic's Messages API."""

from __future__ import annotations

from typing import ClassVar

from skilltrial.backends._http import HttpTarget
from skilltrial.chat import anthropic as wire
from skilltrial.chat.wire import Wire


class Anthropic(HttpTarget):
    """A model behind `POST {base_url}/v1/messages`."""

    name: ClassVar[str] = "anthropic"
    wire: ClassVar[Wire] = wire
    address_variable: ClassVar[str] = "ANTHROPIC_BASE_URL"
    default_address: ClassVar[str] = "https://api.anthropic.com"
    default_key: ClassVar[str] = "ANTHROPIC_API_KEY"

    def key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def wire_headers(self) -> dict[str, str]:
        return {"anthropic-version": wire.VERSION_HEADER}


plugin = Anthropic

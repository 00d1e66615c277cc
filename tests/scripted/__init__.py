"""A scripted model on loopback that drives real agent programs: no network, no key, no money, the same every time.

    with serving(Scene("skill", skill="release-notes")) as server:
        …  start an agent program with server.url as its endpoint
    server.seen        every request: path, body, what it offered, whether it was a side call
    server.main        those that asked for the next step of a task

It speaks Anthropic Messages, OpenAI Responses, Chat Completions and Gemini, streamed and whole. What it does next depends only on the
request: the scene whose word the prompt holds, the number of tool results so far, the tools and skills that are offered. It knows
nothing of arms; an agent that was offered no skill simply gets no call of one.
"""

from .asking import Asked, Tool
from .scenes import Scene
from .server import Seen, Server, serving
from .turns import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, REASONING_TOKENS

__all__ = [
    "CACHED_TOKENS", "INPUT_TOKENS", "OUTPUT_TOKENS", "REASONING_TOKENS",
    "Asked", "Scene", "Seen", "Server", "Tool", "serving",
]  # fmt: skip

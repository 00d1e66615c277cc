"""What secrets look like when nobody told us their values: a table of named patterns.

Each rule answers with the spans to mask, so that words around a secret stay and masking twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest

Span = tuple[int, int]
MASK = "[redacted]"
SHORTEST_TOKEN = 16
"""Every provider key below is at least this long, prefix included."""

# ---------------------------------------------------------------- provider keys
_SHAPES = {
    "openai, anthropic, openrouter, deepseek": r"sk-(?=[\w-]{0,200}[0-9A-Z])[A-Za-z0-9_-]{16,}",
    "google": r"AIza[A-Za-z0-9_-]{30,}",
    "google oauth": r"ya29\.[A-Za-z0-9_-]{20,}",
    "github": r"gh[pousr]_[A-Za-z0-9]{20,}",
    "github fine-grained": r"github_pat_[A-Za-z0-9_]{20,}",
    "gitlab": r"glpat-[A-Za-z0-9_-]{16,}",
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "slack": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{12,}",
    "slack webhook": r"hooks\.slack\.com/services/[A-Za-z0-9/]{20,}",
    "stripe": r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,}",
    "hugging face": r"hf_[A-Za-z0-9]{20,}",
    "npm": r"npm_[A-Za-z0-9]{20,}",
    "pypi": r"pypi-[A-Za-z0-9_-]{30,}",
    "groq": r"gsk_[A-Za-z0-9]{20,}",
    "xai": r"xai-[A-Za-z0-9]{20,}",
    "perplexity": r"pplx-[A-Za-z0-9]{20,}",
    "nvidia": r"nvapi-[A-Za-z0-9_-]{20,}",
    "replicate": r"r8_[A-Za-z0-9]{20,}",
    "together": r"tgp_v1_[A-Za-z0-9_-]{20,}",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{20,}",
    "shopify": r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,}",
    "docker": r"dckr_pat_[A-Za-z0-9_-]{16,}",
    "linear": r"lin_api_[A-Za-z0-9]{20,}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
}
_PROVIDER = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_SHAPES.values())})")
_PREFIXES = (
    "sk-", "AIza", "ya29.", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "AKIA", "ASIA", "ABIA", "ACCA", "xox",
    "xapp-", "slack.com", "k_live_", "k_test_", "whsec_", "hf_", "npm_", "pypi-", "gsk_", "xai-", "pplx-", "nvapi-", "r8_",
    "tgp_v1_", "SG.", "_v1_", "shp", "dckr_pat_", "lin_api_", "eyJ",
)  # fmt: skip
"""Every shape holds one of these; looking for them is cheaper than trying the shapes."""


def provider_keys(text: str, runs: list[Span], tokens: str) -> Iterator[Span]:
    """Keys of known providers.

    Args:
        runs: where unbroken runs of token characters lie.
        tokens: those runs, joined.
    """
    if any(prefix in tokens for prefix in _PREFIXES):
        for start, end in runs:
            for match in _PROVIDER.finditer(text, start, end):
                yield match.span()


# ---------------------------------------------------------------- sensitive names
_KEYED = "api|access|secret|private|signing|encryption|master|account|auth|session|shared|service|deploy|webhook|license"
_SENSITIVE = re.compile(
    rf"(?:^|_)(?:password|passwd|passphrase|pwd|secret|token|credentials?|authorization|cookie|bearer"
    rf"|(?:{_KEYED})_?key|[a-z]*password|[a-z]*apikey|accesstoken|authtoken|refreshtoken|clientsecret)_?\d{{0,2}}$"
)
_NOT_SECRET = re.compile(
    r"(?:^|_)(?:max|min|num|n|total|eos|bos|pad|unk|sep|cls|mask|stop|special|page|next|continuation|first|last|per|each|new|prev|"
    r"input|output|prompt|completion|cached|reasoning|current|next_page)_token$|(?:^|_)no_(?:password|token|secret|credentials?)$|^oldpwd$"
)


@lru_cache(maxsize=4096)
def sensitive(name: str) -> bool:
    """True for a name whose value is a secret: `api_key`, `dbPassword`, `X-Auth-Token`; not `password_policy`, `input_tokens`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    return bool(_SENSITIVE.search(plain)) and not _NOT_SECRET.search(plain)


_HARMLESS_WORDS = (
    "none null nil true false yes no undefined required optional string str number int integer float bool boolean bytes any object "
    "array text password secret token redacted hidden masked empty missing invalid incorrect wrong unknown unset set default "
    "placeholder example n/a na tbd todo not is the a an must should can may will was are be has in on of for from and or to "
    "basic bearer digest ok"
)
_HARMLESS = frozenset(_HARMLESS_WORDS.split())
_PLACEHOLDER = re.compile(
    r"[<{$%*\[].*|\W*|(.)\1*|(?:your|my|the|some|dummy|fake|insert|enter|put|replace)[-_ ].*|.*(?:redacted|placeholder).*|"
    r"(?:os|self|this|process|env|settings|config|secrets|args|options|params|request|user)\.[A-Za-z_].*|[\w.]+\(.*|\w+\[.*",
    re.IGNORECASE | re.DOTALL,
)


def harmless(value: str, name: str = "password") -> bool:
    """True for a value that only stands where a secret would: none, true, `<key>`, `$KEY`, `os.environ[...]`, `password`."""
    bare = value.strip().rstrip(".")
    if bare.lower() in _HARMLESS or _PLACEHOLDER.fullmatch(bare):
        return True
    if re.fullmatch(r"[A-Za-z_][\w.]*", bare) and sensitive(bare):
        return True
    weak = re.search(r"(?:token|secret|bearer|key)\d*$", name.lower())
    return bool(weak) and (len(bare) < 6 or (" " in bare and not re.search(r"\d", bare)))


# ---------------------------------------------------------------- assignments
_ANCHORS = (b"key", b"token", b"secret", b"pass", b"pwd", b"credential", b"authorization", b"cookie")
_UNFINISHED = {b"pass": (b"w", b"p"), b"credential": (b"s", b"")}
"""Anchors that are no whole words, with what may follow."""
_BEFORE_KEY = tuple(word.encode("ascii") for word in _KEYED.split("|"))
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.-]{0,64}")
_ASSIGNED = re.compile(
    r"""(?:\\*["'`]|\*\*)?\]?(?:\\*["'])?
    [ \t]*(?::[ \t]*[Ss]tr(?:ing)?[ \t]*=|=>|:=|={1,2}|:|(?P<element>>)|(?P<flag>(?<=[\w])[ \t]))[ \t]*(?:\*\*[ \t]*)?
    (?:(?P<scheme>Bearer|Basic|Token|ApiKey|Digest|Negotiate)[ \t]+)?
    (?:[rbfuRBFU]{1,2}(?=["']))?
    (?:(?P<escape>\\+)(?P<quote>["'])(?P<nested>.*?)(?:(?<!\\)(?=(?P=escape)(?P=quote))|(?=\n)|\Z)
      |"(?P<double>(?:\\.|[^"\\\n])*)
      |'(?P<single>(?:\\.|[^'\\\n])*)
      |`(?P<ticked>[^`\n]*)
      |(?P<bare>[^\s"'`<>&;,]+(?:,(?![\w-]+[:=])[^\s"'`<>&;,]+)*))""",
    re.VERBOSE | re.IGNORECASE,
)
_PROSE = re.compile(r"[A-Za-z']+")


def assignments(text: str, low: bytes) -> Iterator[Span]:
    """Values given to sensitive names: `key=value`, `key: value`, quoted, in JSON (escaped too), `--key value`, `<key>value<`.

    Args:
        low: `text` in lower-case ASCII, one byte a character.
    """
    for anchor in _ANCHORS:
        at = low.find(anchor)
        while at >= 0:
            end = at + len(anchor)
            if _promising(anchor, text, low, at, end):
                start, end = _identifier_around(text, at, end)
                yield from _assigned(text, start, end)
            at = low.find(anchor, end)


def _promising(anchor: bytes, text: str, low: bytes, at: int, end: int) -> bool:
    """A cheap look that ends most cases: `tokens`, `keyword`, `secretary`, `key points`."""
    if anchor in _UNFINISHED:
        return low[end : end + 1] in _UNFINISHED[anchor] or not text[end : end + 1].isalpha()
    if text[end : end + 1].isalpha():
        return False
    return anchor != b"key" or low[max(0, at - 12) : at].rstrip(b"_-. ").endswith(_BEFORE_KEY)


def _identifier_around(text: str, start: int, end: int) -> Span:
    after = _IDENTIFIER.match(text, end)
    end = after.end() if after else end
    floor = max(0, start - 48)
    while start > floor and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        start -= 1
    words = re.search(r"\b(?:api|access|secret|private)[ ]$", text[max(0, start - 8) : start], re.IGNORECASE)
    return (start - len(words.group()) if words else start), end


def _assigned(text: str, start: int, end: int) -> Iterator[Span]:
    name = text[start:end].rstrip(".-")
    if not sensitive(name):
        return
    match = _ASSIGNED.match(text, start + len(name))
    if not match:
        return
    if match["flag"] and not name.startswith("--"):
        return
    if match["element"] and text[start - 1 : start] != "<":
        return
    kind = next(group for group in ("nested", "double", "single", "ticked", "bare") if match[group] is not None)
    first, last = match.span(kind)
    value = text[first:last]
    if kind == "bare":
        value = value.rstrip(").]}|:*\\" if "(" not in value and "[" not in value else "")
        if value[:1] in "/~" and name.lower().endswith("pwd"):
            return
        followed_by_words = re.match(r",? [a-z]", text[last : last + 3])
        if followed_by_words and _PROSE.fullmatch(value) and not name.lower().endswith(("password", "passwd", "passphrase")):
            return
    if value and not harmless(value, name):
        yield first, first + len(value)


# ---------------------------------------------------------------- bearer tokens, URLs, private keys
_BEARER = re.compile(r"\bbearer[\"':= \t]+(?P<token>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE)


def bearer_tokens(text: str) -> Iterator[Span]:
    """What follows the word bearer, when it looks like a token and not like a word."""
    for match in _BEARER.finditer(text):
        token = match["token"].rstrip(".")
        tokenlike = re.search(r"\d", token) or re.search(r"[a-z][A-Z]|[_~+/=]", token) or len(token) >= 20
        if tokenlike and not harmless(token, "bearer"):
            yield match.start("token"), match.start("token") + len(token)


_USER_URL = re.compile(r"://[^\s/:@'\"<>]*:(?P<password>[^\s@'\"<>/]+)@")


def url_passwords(text: str) -> Iterator[Span]:
    """The password in `scheme://user:password@host`."""
    for match in _USER_URL.finditer(text):
        if not harmless(match["password"]):
            yield match.span("password")


_NEWLINE = r"(?:\r?\n|\\+r\\+n|\\+n)"
_BODY = r"(?=[A-Za-z]?[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/=]+"
"""A line of base64: something in it no word has."""
_BODY_LINE = rf"(?:{_NEWLINE}[ \t>|]*(?:{_BODY}|[\w-]+:[ ][^\n\\]*|(?=[\r\n\\]))(?=[ \t]*(?:\r?\n|\\|[\"']|\Z)))"
_BLOCK = re.compile(r"-----(?P<side>BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_AFTER_BEGIN = re.compile(rf"[A-Za-z0-9+/=]*{_BODY_LINE}*")
_LONGEST_KEY = 20_000
"""Characters between beginning and end."""


def private_keys(text: str) -> Iterator[Span]:
    """Private-key blocks: whole, without their end, without their beginning."""
    blocks = list(_BLOCK.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block["side"] == "BEGIN":
            if following and following["side"] == "END" and following.start() - block.end() <= _LONGEST_KEY:
                yield block.start(), following.end()
            else:
                body = _AFTER_BEGIN.match(text, block.end())
                yield block.start(), body.end() if body else block.end()
        else:
            yield _key_without_beginning(text, block.start()), block.end()


def _key_without_beginning(text: str, end: int) -> int:
    floor = max(0, end - _LONGEST_KEY)
    start = end
    while start > floor:
        stop = re.search(r"(?:\r?\n|\\+r\\+n|\\+n)?\Z", text[max(floor, start - 6) : start])
        line_end = start - (len(stop.group()) if stop else 0)
        line = re.search(rf"(?:\A|(?<=\n)|(?<=\\n))[ \t>|\"']*(?P<body>{_BODY})\Z", text[max(floor, line_end - 400) : line_end])
        if not line:
            break
        start = line_end - len(line["body"])
    return start

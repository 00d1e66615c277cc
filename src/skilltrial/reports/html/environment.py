"""The templates, escaped by default, and a policy that lets a page load nothing."""

from __future__ import annotations

import base64
import hashlib
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import jinja2
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from skilltrial.system.files import write_atomic

FOLDER = Path(__file__).parent / "templates"
_DAMAGED = (OSError, EOFError, ValueError, TypeError, AttributeError, ImportError, IndexError, UnpicklingError)
"""What reading it may raise."""


class _Compiled(BytecodeCache):
    """Keeps compiled templates where Python keeps our compiled modules, by its rules: compiling took 6 % of a small run."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """A file that is missing, damaged or of another template or Python leaves the bucket empty."""
        with suppress(*_DAMAGED), _spot(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                write_atomic(_spot(bucket), bucket.bytecode_to_string(), None)


def _spot(bucket: Bucket) -> Path:
    beside = Path(__file__).with_name(f"{bucket.key}-{jinja2.__version__}.jinja")
    return Path(cache_from_source(beside)).with_suffix(".jinja")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        bytecode_cache=_Compiled(),
    )


@cache
def _frame() -> dict[str, Any]:
    """Style, script and the policy that names them by digest. Both are ours and hold no data."""
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    script = (FOLDER / "script.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return {"style": Markup(style), "script": Markup(script), "policy": policy}


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def page(template: str, **values: Any) -> str:
    """A whole page."""
    return _environment().get_template(template).render(**_frame(), **values)


def part(template: str, **values: Any) -> Markup:
    """A piece of a page; its values are escaped already, so it may stand in one as it is."""
    return Markup(_environment().get_template(template).render(**values))

"""The computer as backends may see it, with every secret known to the redactor."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from skilltrial.chat.limiter import AimdLimiter
from skilltrial.chat.retry import Budget
from skilltrial.seams import Machine
from skilltrial.system.redaction import Redactor

SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH)(?:_|$)", re.IGNORECASE)


def redactor_for(environ: Mapping[str, str]) -> Redactor:
    """Knows the value of every variable whose name says that it is a secret."""
    redactor = Redactor()
    for name, value in environ.items():
        if SECRET_NAME.search(name) and not Path(value).is_absolute():
            redactor.learn(value)
    return redactor


def machine_for(environ: Mapping[str, str], redactor: Redactor, stopping: Callable[[], bool]) -> Machine:
    """One for all cells of an experiment: they share limits and the retry budget."""
    return Machine(
        environ=dict(environ),
        redactor=redactor,
        limiter=AimdLimiter(stopping=stopping),
        temp=Path(tempfile.gettempdir()),
        stopping=stopping,
        retry_budget=Budget(),
    )

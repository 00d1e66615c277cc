"""Files are opened for writing in `system/files.py` alone, so that every byte can pass the redactor."""

import ast
from collections.abc import Collection
from pathlib import Path

import pytest

import skilltrial

ROOT = Path(skilltrial.__file__).parent
ALLOWED = {"system/files.py", "backends/_mcp_server.py"}
"""The second is a program of its own that agents start in their home; what it writes is read back and masked as evidence."""
PIPES = {"system/streams.py": {"os.write"}, "sandboxes/_doors.py": {"os.write"}}
"""What is written there goes into a pipe to a program of ours."""
WRITING_CALLS = {"write_text", "write_bytes", "touch", "copyfile", "copy2", "copytree", "copyfileobj", "mkstemp"}
SHUTIL_CALLS = {"copy", "move"}
CLASSES = {"NamedTemporaryFile", "FileIO", "FileHandler", "RotatingFileHandler"}
WRITE_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}


def name_of(call: ast.Call) -> tuple[str, str]:
    """What is called, and on what."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr, function.value.id if isinstance(function.value, ast.Name) else ""
    return (function.id if isinstance(function, ast.Name) else ""), ""


def opens_for_writing(call: ast.Call, *, of_os: bool) -> bool:
    if any(isinstance(node, ast.Attribute) and node.attr in {"devnull", "dup"} for node in ast.walk(call)):
        return False  # no file of its own
    if of_os:
        return any(isinstance(node, ast.Attribute) and node.attr in WRITE_FLAGS for node in ast.walk(call))
    modes = [
        item.value
        for item in [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
        if isinstance(item, ast.Constant)
    ]
    return any(
        isinstance(mode, str) and len(mode) <= 4 and set(mode) <= set("rwaxbt+U") and set(mode) & set("wax+") for mode in modes
    )


def writers_in(source: str, spared: Collection[str] = ()) -> list[int]:
    """Lines that write files which have a name."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(alias.name == "sqlite3" for alias in node.names):
            lines.append(node.lineno)
        if not isinstance(node, ast.Call):
            continue
        name, owner = name_of(node)
        if f"{owner}.{name}" in spared:
            continue
        writes = (
            name in WRITING_CALLS | CLASSES
            or (owner == "shutil" and name in SHUTIL_CALLS)
            or (owner == "os" and name in {"write", "pwrite", "writev", "mkfifo", "mknod"})
            or (name in {"open", "fdopen"} and opens_for_writing(node, of_os=owner == "os" and name == "open"))
        )
        if writes:
            lines.append(node.lineno)
    return lines


def test_no_other_module_opens_a_file_for_writing() -> None:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT).as_posix()
        if relative not in ALLOWED:
            found += [f"{relative}:{line}" for line in writers_in(path.read_text(encoding="utf-8"), PIPES.get(relative, ()))]
    assert not found, "use skilltrial.system.files: " + ", ".join(found)


@pytest.mark.parametrize(
    "line",
    ["open(p, 'w')", "p.open('ab')", "open(p, mode='r+')", "p.write_text(s)", "os.open(p, os.O_WRONLY)", "shutil.copy(a, b)",
     "tempfile.NamedTemporaryFile()", "import sqlite3", "os.write(fd, b)", "os.fdopen(fd, 'w')", "logging.FileHandler(p)"],
)  # fmt: skip
def test_the_rule_finds(line: str) -> None:
    assert writers_in(line)


@pytest.mark.parametrize(
    "line",
    [
        "open(p)",
        "p.open('rb')",
        "p.read_text()",
        "os.open(p, os.O_RDONLY)",
        "os.open(os.devnull, os.O_RDWR)",
        "stream.write(s)",
        "d.copy()",
    ],
)
def test_the_rule_spares(line: str) -> None:
    assert not writers_in(line)

"""An import reaches only to a lower floor, or within its own folder."""

import ast
from pathlib import Path

import skilltrial

ROOT = Path(skilltrial.__file__).parent
FLOORS = {
    0: {"errors", "version", "records"},
    1: {"system", "stats", "prices", "seams", "wording"},
    2: {"registry", "chat", "sandboxes", "gateway"},
    3: {
        "load", "plan", "executors", "workspaces", "backends", "collect", "graders", "store", "analyze", "reports",
        "formats", "listeners", "lint",
    },
    4: {"flows"},
    5: {"api", "cli", "server", "pytest_plugin", "testing", "__main__"},
}  # fmt: skip
FLOOR = {part: floor for floor, parts in FLOORS.items() for part in parts}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skilltrial"):
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("skilltrial.")}
    return found


def test_every_part_stands_on_a_floor() -> None:
    parts = {part_of(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert parts <= FLOOR.keys()


def test_imports_reach_only_to_lower_floors() -> None:
    wrong = []
    for path in ROOT.rglob("*.py"):
        part = part_of(path)
        if part == "__init__":
            continue
        for other in imports_of(path):
            if other == part or other in {"VERSION", "__version__"}:
                continue
            same_floor_ok = FLOOR[part] in (0, 5) or (part in {"seams"} and FLOOR[other] <= 1)
            if not (FLOOR[other] < FLOOR[part] or (same_floor_ok and FLOOR[other] == FLOOR[part])):
                wrong.append(f"{path.relative_to(ROOT)} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))

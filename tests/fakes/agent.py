"""Plays an agent program by the script beside it; see README.md."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ME = Path(sys.argv[0])


def main() -> int:
    script = json.loads(ME.with_suffix(".json").read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--version"]:
        print(script.get("version", "9.9.9 (fake)"))
        return 0
    given = sys.stdin.buffer.read().decode("utf-8", "replace")
    seen = {"argv": sys.argv[1:], "stdin": given, "env": dict(os.environ), "cwd": str(Path.cwd()), "files": below(Path.home())}
    ME.with_suffix(".seen.json").write_text(json.dumps(seen), encoding="utf-8")
    for name in script.get("refuses_with", []):
        if name in os.environ:
            print("cannot be launched inside another session", file=sys.stderr)
            return 1
    for path, text in script.get("writes", {}).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    sys.stderr.write(script.get("stderr", ""))
    print_lines(script)
    if script.get("leaves"):
        subprocess.Popen(["sleep", "300"])
    time.sleep(script.get("sleeps", 0))
    return int(script.get("exit", 0))


def print_lines(script: dict) -> None:
    """A recording's lines, its workspace and home replaced by these, then lines of the script's own."""
    if "recording" in script:
        text = Path(script["recording"]).read_text(encoding="utf-8")
        sys.stdout.write(text.replace("/ws/", f"{Path.cwd()}/").replace("/home/u/", f"{Path.home()}/"))
    for line in script.get("prints", []):
        print(line if isinstance(line, str) else json.dumps(line))
    sys.stdout.flush()


def below(home: Path) -> dict[str, str]:
    """The files of the home, by path."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return {str(path.relative_to(home)): path.read_text(encoding="utf-8", errors="replace") for path in files[:50]}


if __name__ == "__main__":
    sys.exit(main())

"""The least that any harness built on threads and urllib3 must do: two calls per cell, one JSON line appended. No harness.

    python benchmarks/floor_http.py --url http://127.0.0.1:PORT/v1 --cells 1000 --concurrency 16

prints one line of JSON: CPU milliseconds per cell (user and system, this process) and wall seconds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import urllib3

SYSTEM = "Follow these instructions. " * 80
HEADERS = {"Content-Type": "application/json", "User-Agent": "floor", "Accept-Encoding": "identity"}


def run(url: str, cells: int, concurrency: int, out: Path) -> None:
    """Two calls in series per cell, `concurrency` cells at once."""
    address = urllib3.util.parse_url(url)
    pool = urllib3.HTTPConnectionPool(address.host or "", address.port, maxsize=concurrency)
    numbers, lock = iter(range(cells)), threading.Lock()

    def ask(text: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        body = json.dumps({"model": "m", "messages": messages}).encode()
        response = pool.urlopen("POST", f"{address.path}/chat/completions", body=body, headers=HEADERS, retries=False)
        reply: dict[str, Any] = json.loads(response.data)
        return reply

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            answer = ask(f"question {number}")
            verdict = ask(f"judge {answer['choices'][0]['message']['content']}")
            line = json.dumps(
                {"cell": number, "answer": answer["choices"], "usage": answer["usage"], "verdict": verdict["choices"]}
            )
            with lock:
                file.write(line + "\n")
                file.flush()

    with out.open("w") as file:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main() -> None:
    """Runs once and prints what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=16)
    given = parser.parse_args()
    wall, cpu = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run(given.url, given.cells, given.concurrency, Path(folder) / "floor.jsonl")
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(json.dumps({"cells": given.cells, "cpu_ms_per_cell": round(cpu / given.cells * 1000, 4), "wall_s": round(wall, 3)}))


if __name__ == "__main__":
    main()

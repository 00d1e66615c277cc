"""What skilltrial costs beside a program that does the same work with no harness. `python -m benchmarks`, never a timed test."""

"""The version, as a constant, so that `--version` imports nothing else."""

VERSION = "0.1.0"

"""Numbers to estimates with intervals: pure functions, no files, no clock, nothing beyond `math`."""

"""The library: what `skilltrial.evaluate` and its friends are."""

"""Numbers and names as words, and untrusted text made safe to print: one place for every face of the product."""

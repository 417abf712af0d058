"""The same decisions inside your own loop: message lists in, smaller message lists out."""

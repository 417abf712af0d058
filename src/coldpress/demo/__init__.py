"""The demonstration: a recorded session through the real gateway to a scripted upstream; no key, no network."""

"""Readers of other programs' session files; each makes trajectories and counts what it could not use."""

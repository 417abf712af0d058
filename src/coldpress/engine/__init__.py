"""Decide what may become smaller, and make it smaller, without touching the world."""

"""Recorded runs: read them, rebuild their requests, replay them."""

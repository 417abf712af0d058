"""Bounded views, one file a kind of output."""

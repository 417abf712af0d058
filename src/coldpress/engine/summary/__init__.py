"""Condense messages of a conversation into a checked, rendered summary, with a model or without one."""

"""coldpress: make an AI agent's context smaller where that costs nothing or pays."""

__version__ = "0.1.0"

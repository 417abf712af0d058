"""coldpress: press an agent's context at the moments that cost no rewrite."""

__version__ = "0.1.0"

"""The words everything else is written in: conversations, edits, usage, records, errors."""

"""Where originals, standing edits and the ledger are kept: one protocol, a file and a memory behind it."""

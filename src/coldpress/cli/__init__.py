"""The command line: one file a command. A command parses, calls one function and prints."""

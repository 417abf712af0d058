"""Wire formats: read a body into a conversation with spans, splice edits back in, read usage off a reply."""

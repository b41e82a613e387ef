"""When to look."""

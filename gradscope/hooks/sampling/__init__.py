"""When to look, at which thread, and what looking costs."""

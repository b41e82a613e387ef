"""Repairs that are mechanical: edits of the user's source, and patches made of them."""

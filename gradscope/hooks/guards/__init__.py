"""What keeps the program as it would be without us."""

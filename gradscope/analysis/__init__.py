"""What a run means: worked out once, asked by every reader of a trace."""

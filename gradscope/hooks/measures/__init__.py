"""What is computed from the program's tensors."""

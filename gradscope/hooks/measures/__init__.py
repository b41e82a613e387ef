"""What is computed from the program's tensors: norms, overwritten bytes, where NaN began."""

"""GS2xx: the order of zero_grad, backward and step, and what the optimizer holds."""

"""GS4xx: training mode, evaluation mode, no_grad."""

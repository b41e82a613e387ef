"""GS3xx: where the gradient is lost."""

"""GS8xx and GS9xx: workers, data parallelism, seeds, the style of the loop."""

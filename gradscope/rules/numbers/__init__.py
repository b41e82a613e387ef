"""GS7xx: numbers and losses."""

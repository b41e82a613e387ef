"""GS6xx: memory held and work done for nothing."""

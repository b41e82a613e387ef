"""GS5xx: devices and dtypes."""

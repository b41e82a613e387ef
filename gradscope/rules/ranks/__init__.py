"""GS801 to GS803: many processes that train one model."""

"""GS801 to GS803, GS807 to GS810: many processes that train one model."""

"""One file a screen. A screen shows what `app.trace` holds and knows nothing of the others."""

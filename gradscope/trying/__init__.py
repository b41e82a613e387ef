"""A repair is tried: the program runs once more with it in memory, and what is told of both runs is compared."""

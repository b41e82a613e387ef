"""What notes it: the state of one watched run."""

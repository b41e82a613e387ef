"""What notes what hooks see: the state of one watched run, and its way into the trace."""

"""What sees a call: one file per thing that is watched."""

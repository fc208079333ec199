"""`Module` and `Parameter`: registration, calls with hooks, state and conversion."""

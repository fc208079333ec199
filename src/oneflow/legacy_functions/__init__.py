"""Functions under the names and with the arguments that job functions know."""

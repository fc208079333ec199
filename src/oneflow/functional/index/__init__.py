"""Reading, writing and searching elements by position or value."""

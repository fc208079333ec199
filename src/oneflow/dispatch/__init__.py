"""The one call path: find the operation, record it, put it on the tape."""

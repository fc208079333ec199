"""Programs that were written for OneFlow, fetched and run unmodified: a list, and what runs it."""

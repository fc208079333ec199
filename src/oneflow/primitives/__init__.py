"""The operators that everything else is composed from; one definition each."""

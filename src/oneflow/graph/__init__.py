"""`nn.Graph`: a whole step recorded once and run as one program."""

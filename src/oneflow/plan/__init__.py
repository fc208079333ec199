"""What a plan for many devices costs, without the devices."""

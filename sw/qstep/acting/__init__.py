"""Acting beside the table: worlds, policies and agents, as the device and its models have them."""

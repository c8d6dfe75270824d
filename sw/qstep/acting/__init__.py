"""Acting beside the table: worlds, policies and agents of the device and its models."""

"""Files, caches, processes and optional packages; nothing here is specific to reinforcement learning."""

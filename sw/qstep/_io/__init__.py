"""Files, caches, processes and optional packages: nothing here knows of reinforcement learning."""

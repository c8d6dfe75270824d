"""Files, caches, processes and optional packages: nothing here is about reinforcement learning."""

"""The benchmark package's commands, which ``qstep`` loads by name."""

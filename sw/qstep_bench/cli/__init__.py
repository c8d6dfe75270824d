"""The laboratory's commands, which ``qstep`` loads by name."""

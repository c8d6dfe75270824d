"""The commands of the laboratory, which ``qstep`` loads by name."""

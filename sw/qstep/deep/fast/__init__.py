"""Hand-coded DQN for small networks: one flat vector, a gradient without autograd, one Adam call."""

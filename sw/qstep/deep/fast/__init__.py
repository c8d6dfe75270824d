"""Hand-coded DQN for small networks: flat parameters, a gradient without autograd, one Adam call."""

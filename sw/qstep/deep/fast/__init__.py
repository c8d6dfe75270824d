"""DQN by hand for small networks: one flat vector, a gradient without autograd, one Adam call."""

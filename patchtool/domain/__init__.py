"""What the tool talks about: frozen values and ports, standard library only."""

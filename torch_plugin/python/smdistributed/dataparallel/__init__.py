"""SMDDP: communication for data-parallel training."""

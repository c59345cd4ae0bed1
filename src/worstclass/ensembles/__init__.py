"""Classifiers to compare with: one network with any loss, and ensembles of independent networks."""

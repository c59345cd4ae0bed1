"""Runs and what is kept of them."""

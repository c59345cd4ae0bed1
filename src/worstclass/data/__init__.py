"""Data: named sets and the user's own."""

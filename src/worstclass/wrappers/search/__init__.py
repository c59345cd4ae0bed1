"""The search for offsets."""

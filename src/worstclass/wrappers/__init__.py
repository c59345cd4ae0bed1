"""What wraps any classifier: decision offsets for the worst class, and abstaining."""

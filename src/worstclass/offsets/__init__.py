"""Decision offsets: one number a class, added to the scores of any classifier, for the sake of the worst class."""

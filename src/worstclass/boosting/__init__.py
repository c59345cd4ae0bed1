"""Class-weighted Hedge boosting and the vote of its members."""

"""Before paying: voters of a model vote on a plan, and the result is compared with the truth."""

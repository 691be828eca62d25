"""Define requests and answers of the collection; `shapes` makes JSON Schema of result dataclasses."""

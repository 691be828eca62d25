"""Define requests and answers of the collection; `shapes` makes JSON Schema of the dataclasses in answers."""

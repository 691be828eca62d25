"""What requests and answers of the collection look like; `shapes` makes JSON Schema of dataclasses in answers."""

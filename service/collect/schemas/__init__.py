"""What requests and answers of the collection look like; `shapes` has the JSON Schema of dataclasses that answers hold."""

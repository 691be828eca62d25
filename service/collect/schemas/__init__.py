"""Schemas of requests and answers, and the JSON Schema of frozen dataclasses that answers hold as they are."""

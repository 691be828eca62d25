"""Votes as files and data frames hold them: records (columns by name) -> answers (what each means) -> votes."""

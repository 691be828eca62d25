"""Read votes from files and data frames: records (columns by name) -> answers (their meanings) -> votes."""

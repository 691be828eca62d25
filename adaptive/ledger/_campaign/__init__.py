"""A campaign: its plan, settings, contents, pages and pay, and its progress."""

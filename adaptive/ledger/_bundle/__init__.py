"""Bundles: a whole campaign as one zip that anyone can check, with or without this software.

`contents` converts the tables of a campaign to text files, packs them as a zip, and reads untrusted zips. It omits ids
that only the database knows. `checking` verifies digests, the chain, replayed records and strengths. `files` writes
bundles with their data sheet and Croissant metadata, and verifies and restores them.
"""

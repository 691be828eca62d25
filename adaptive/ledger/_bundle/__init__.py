"""Bundles: a whole campaign as one zip that anyone can check, with our software or without.

`contents` turns the tables of a campaign into files of text, packs them as a zip, and reads untrusted zips. Ids that
only the database knows are left out. `checking` compares digests, the chain, replayed records and strengths. `files`
writes bundles with their data sheet and Croissant metadata, and verifies and restores them.
"""

"""Bundles: a whole campaign as one zip that anyone can check, with our software or without.

contents (the tables of a campaign, without what only its database means) -> members (files of text) -> archive (a zip,
and checks of untrusted zips). checking compares digests, the chain, replayed records and strengths. documents writes
the data sheet and Croissant metadata. files makes the same campaign in another ledger.
"""

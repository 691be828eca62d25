"""Requests and responses, one schema each; they own shapes and limits, the libraries own meaning."""

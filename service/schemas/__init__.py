"""Define requests and responses, one schema each: schemas own shapes and limits, the libraries own meaning."""

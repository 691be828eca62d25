"""Files in and out: everything that touches a file format."""

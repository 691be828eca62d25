"""What requests and answers of the collection look like."""

"""What a campaign is, what it shows and pays, and where it stands."""

"""What each page of the dashboard shows, as plain records: the server sends them, a published site holds them."""

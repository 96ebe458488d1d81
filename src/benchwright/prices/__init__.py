"""What machines cost: a file of one's own prices, lists of the vendors and of others, and the book that joins them."""

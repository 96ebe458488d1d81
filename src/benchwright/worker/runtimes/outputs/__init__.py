"""What models answer: collected as arrays, and compared with what they must answer."""

"""What models answer: collected as arrays, and compared with what they must answer."""

COMPARED = "compared with what is expected"  # the method of every metric that comparing gives

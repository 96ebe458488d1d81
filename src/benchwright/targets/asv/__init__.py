"""Projects of asv: their `asv.conf.json`, the matrix of their environments, the commands that build them."""

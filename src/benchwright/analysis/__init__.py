"""Pure judgement of results: what of them is judged, and in which order. Nothing here opens a store or writes text."""

"""Several processes that do one piece of work: how their number, the kind of scaling and their talk are called.

A collective is what several processes do together: an all-reduce of gradients, a broadcast, a barrier. The time of one
includes the wait for the slowest process.
"""

from __future__ import annotations

PROCESSES = "processes"  # the parameter that says how many, and the dimension of a scaling
STRONG, WEAK = "strong", "weak"  # all together do the same work; each does as much as the only one
KINDS = (STRONG, WEAK)
SHARE = "communication_share"  # of the profiled time: a collective was under way
EXPOSED = "communication_exposed"  # of the profiled time: one was under way, and nothing was computed meanwhile
UNIT = "%"  # of both shares
TITLES = {SHARE: "in collectives", EXPOSED: "lost to communication"}

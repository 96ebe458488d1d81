"""What `--json` prints: one envelope, `{"format": 1, "kind": ..., "data": ...}`, whatever the verb.

The document of a run is the one that `benchwright.schema.dumps` writes and `benchwright import` reads. Every kind is
listed here, with the verbs that print it and what its data holds.
"""

from __future__ import annotations

import json

from benchwright import schema

# kind -> (what prints it, what `data` holds)
PRINTED: dict[str, tuple[str, str]] = {
    "run": ("run, show, driver, harness", "a run, as [recorded](schema.md)"),
    "trial": ("ab", "every pair, every look, every estimate with its interval; `ok`, `worse`, `calibration`"),
    "bisection": ("bisect", "the culprit, the suspects with their probabilities, `sure`"),
    "commit": ("watch", "one line for each commit: `revision`, `outcome`, `run`, `findings`, `suspected`"),
    "comparison": ("compare A B", "`before`, `after`, `smallest`, `cases` with their verdicts, `calibration`"),
    "gate": ("compare --against, check", "`ok`, `run`, `against`, `cases` with their breaches, `calibration`"),
    "findings": ("findings, findings judge", "`findings`"),
    "finding-series": ("findings show", "`finding`, and `series`, its values"),
    "finding-rules": ("findings rules", "`mutes` and `thresholds`"),
    "cases": ("list TARGET", "a list: `name`, `params`, `version`"),
    "runs": ("list", "a list: the runs of a store, the newest first"),
    "scaling": ("show --scaling, scaling", "`run`, `advice`, `cautions`, `picture`"),
    "operators": ("show --operators, operators", "`run`, `by`, `cases` with their operators, times in seconds"),
    "operator-changes": (
        "show A B --operators, operators A B",
        "`before`, `after`, `smallest`, and `cases`",
    ),
    "history": ("history", "`series` with their runs and drifts, `misses`"),
    "report": ("report", "`written`, the paths of the files"),
    "site": ("report --site", "`site`, its folder, and how many files were written, left and removed"),
    "server": ("serve", "`address` and `store`, one line when it is ready"),
    "token": ("token create", "`name`, `scope`, `expires_at`, `token`"),
    "tokens": ("token list", "a list: `name`, `scope`, `made_at`, `expires_at`, `used_at`"),
    "notifications": ("notify send, notify test", "a list: `target`, `findings`, `outcome`, `why`"),
    "import": ("import", "a list: `file`, `added`, `present`"),
    "upload": ("upload", "`run`, `sent`, `failures`, `repeat`"),
    "store": ("store info", "`place`, `kind`, `server`, `version`, `counts`, `bytes`, `sample_bytes`"),
    "store-prune": ("store prune", "`runs`, `results`, `aged`, `sample_bytes`, `given_back`, `dry_run`"),
    "store-copy": ("store copy", "`runs`, `added`, `completed`, `results`, `differing`, and what else was added"),
    "store-send": ("store send", "a list: `server`, `sent`, `refused`, `waiting`"),
    "machine": ("env", "`environment`, `noise`, `self_test`, `advice`, `calibration`"),
    "environment-differences": ("env diff", "a list: `place`, `a`, `b`"),
    "devices": ("devices", "a list: `kind`, `name`, `hash`, `abi`, `os`"),
    "cache": ("cache list", "`root`, `size`, `entries`"),
    "cache-prune": ("cache prune", "the same of what went, and `dry_run`"),
    "cache-check": ("cache verify", "`root`, `checked`, `damaged`, `repaired`"),
    "image": ("image build", "`name` and `id`, or `path`, or `dockerfile`"),
    "images": ("image list", "a list of images"),
    "spec-check": ("spec check", "`files` and `problems`"),
    "perfzero-differences": ("perfzero diff", "a list of what differs from the trial before"),
    "task-check": ("tasks check", "what was found in the task file and in the log"),
}


def envelope(kind: str, data: object, *, indent: int | None = 2) -> str:
    """Returns the JSON document of that kind; `data` may hold records. `indent=None` writes it on one line."""
    assert kind in PRINTED, kind
    document = {"format": schema.FORMAT, "kind": kind, "data": schema.encode(data)}
    return json.dumps(document, indent=indent, allow_nan=False)

"""What `--json` prints: one envelope, `{"format": 1, "kind": ..., "data": ...}`, whatever the verb.

The document of a run is the one that `benchwright.schema.dumps` writes and `benchwright import` reads. Every kind is
listed here, with the verbs that print it and what its data holds.
"""

from __future__ import annotations

import json

from benchwright import schema

# kind -> (what prints it, what `data` holds)
PRINTED: dict[str, tuple[str, str]] = {
    "request-comment": ("notify comment", "`url`, the comment's page, and `made`: it is new, else it was changed"),
    "project": ("init", "`targets` with `kind`, `about` and what each `lacks`; those that are `measured`; `written`"),
    "run": ("run, show, lab follow, lab fetch, driver, harness", "a run, as [recorded](schema.md)"),
    "trial": ("ab", "every pair, every look, every estimate with its interval; `ok`, `worse`, `calibration`"),
    "race": (
        "tune",
        "`question`, `winner`, `probability`, `beyond`, `overall`, `alike`, `front`, `nearest`, and all `cells`",
    ),
    "bisection": ("bisect", "the culprit, the suspects with their probabilities, `sure`"),
    "commit": ("watch", "one line for each commit: `revision`, `outcome`, `run`, `findings`, `suspected`"),
    "comparison": (
        "compare A B",
        "`before`, `after`, `across`, `smallest`, `cases` with their verdicts, `means`, `calibration`",
    ),
    "comparisons": (
        "compare A B C",
        "`before`, `across`, `smallest`, and `sides`: `after`, `cases`, `means` of each other run",
    ),
    "gate": ("compare --against, check", "`ok`, `run`, `against`, `cases` with their breaches, `calibration`"),
    "findings": (
        "findings, findings judge, acknowledge, resolve, ignore, reopen, assign, split, join, comment",
        "`findings`, those that were found or changed; of `findings`, also `causes`",
    ),
    "finding-series": ("findings show", "`finding`, and `series`, its values"),
    "finding-issue": ("findings issue", "`finding`, `title`, `text`, `form`, `shortened`, `url`, `opened`"),
    "finding-comment": ("findings comment --pull-request", "`finding`, `pull_request`, `text`, `url`, `made`"),
    "finding-rules": ("findings rules, mute, threshold", "`mutes` and `thresholds`, as they are now"),
    "rule-previews": ("findings mute --preview, threshold --preview", "a list: `sentence`, `told`, `findings`, ..."),
    "cases": ("list TARGET", "a list: `name`, `params`, `version`"),
    "runs": ("list", "a list: the runs of a store, the newest first"),
    "scaling": ("show --scaling, scaling", "`run`, `advice`, `cautions`, `picture`"),
    "operators": ("show --operators, operators", "`run`, `by`, `cases` with their operators, times in seconds"),
    "operator-changes": (
        "show A B --operators, operators A B",
        "`before`, `after`, `smallest`, and `cases`",
    ),
    "history": ("history", "`series` with their runs and drifts, `misses`"),
    "machines": ("machines list", "a list: `key`, `name`, `results`, `noise`, `trouble`, `quarantine`"),
    "machine-health": (
        "machines show, quarantine, release",
        "`line`, as in the list, `health` by signal, `control` by part, and `quarantines`",
    ),
    "machine-check": (
        "machines check",
        "a list: `host`, `verdict`, `reasons` and `doubts` (each `code`, `seen`, `remedy`), `facts`",
    ),
    "machine-control": ("machines control", "a list: `host`, and `run`, as [recorded](schema.md)"),
    "lab": ("lab list", "`machines`, `queue`, `queued`, and `why` nothing is running"),
    "lab-submission": (
        "lab show, cancel, priority, run --lab --detach",
        "`run`, `state`, `where`, `selector`, `priority`, and `jobs` with their machine, place in the queue and reason",
    ),
    "lab-machine": (
        "lab drain, resume, quarantine, reserve, release",
        "`name`, `state`, `facts`, `labels`, `reason`, `until`, `reserved_for`, `job`",
    ),
    "report": ("report", "`written`, the paths of the files"),
    "site": ("report --site", "`site`, its folder, and how many files were written, left and removed"),
    "server": ("serve", "`address` and `store`, one line when it is ready"),
    "token": ("token create", "`name`, `scope`, `expires_at`, `token`"),
    "tokens": ("token list", "a list: `name`, `scope`, `made_at`, `expires_at`, `used_at`"),
    "notify-targets": (
        "notify list",
        "a list: `address` (without secrets), `verdicts`, `cases`, `smallest`, `kept` (at a server), "
        "`server` (the server tells it), `preview`",
    ),
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
    "cost": ("cost", "`lines`, the cheapest first; `left`, `break_evens`, `picture`"),
    "prices": ("prices list", "a list of prices: `provider`, `shape`, `region`, `market`, `amount`, `currency`, `per`"),
    "price": ("prices show", "one price"),
    "price-list": ("prices import", "`name`, `form`, `prices`, `unknown`"),
    "cloud-machine": (
        "cloud up, status, start, stop",
        "`name`, `id`, `provider`, `shape`, `region`, `state`, `address`, `expires`, `payer`, `cost`, `price`, ...",
    ),
    "cloud-machines": ("cloud list, down", "a list of the same"),
    "cloud-sweep": (
        "cloud sweep",
        "`ended`, `gone`, `left`, `unsettled`, `failed`: lists of `name`, `id`, `provider`, `region`, `why`; `dry_run`",
    ),
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

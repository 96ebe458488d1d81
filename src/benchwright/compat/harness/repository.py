"""FAI-PEP's repo_driver.py: builds each new commit, runs the harness with it, and says how that went."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from benchwright.compat.harness import detection, door, driver_flags, programs
from benchwright.compat.harness.door import INTERRUPTED_CODE, Watching
from benchwright.compat.harness.driver_flags import DriverFlags
from benchwright.compat.harness.programs import BuiltProgram, Programs
from benchwright.errors import FetchError, TargetError
from benchwright.vcs.history import Commit, History, open_repository
from benchwright.workflows.watch import commits, interface
from benchwright.workflows.watch.commits import take_every

Say = Callable[[str], None]


def main(arguments: Sequence[str], watching: Watching) -> int:
    """0 when every commit was built and measured, 1 when one was not; a `UserError` for a wrong request."""
    flags = driver_flags.parse(arguments)
    repository = open_repository(flags.repo_dir)
    if repository.kind != flags.kind:
        raise TargetError(
            f"{repository.root} is a {repository.kind} repository", remedy=f"say --repo {repository.kind}"
        )
    for platform in flags.platforms:  # a build takes minutes: what is wrong with the rest is said before it
        door.check(flags.words(platform))
    driver = _Driver(flags=flags, repository=repository, watching=watching, say=door.say)
    return driver.measure_working_copy() if flags.single else driver.follow()


@dataclass(slots=True, kw_only=True)
class _Driver:
    flags: DriverFlags
    repository: History
    watching: Watching
    say: Say
    finished: list[str] = field(default_factory=list)  # commits, in the order they were; the file only says the first

    def measure_working_copy(self) -> int:
        """Builds and measures the working copy, whatever is in it."""
        head = self.repository.resolve("HEAD" if self.repository.kind == "git" else ".")
        return max(self._handle_platform(platform, head, as_it_is=True) for platform in self.flags.platforms)

    def follow(self) -> int:
        """Measures every commit in order: until none is left, or for ever with an interval."""
        code = 0
        self.finished += self._read_commit_file()
        while True:
            for commit in self._new_commits():
                if interface.is_told_to_stop(self.flags.status_file):
                    return code
                code = max(code, self._handle_commit(commit))
                if code == INTERRUPTED_CODE:
                    return code
            if self.flags.interval is None or not self._rest(self.flags.interval):
                return code

    def _rest(self, seconds: float) -> bool:
        """Waits; returns False when the status file says to stop."""
        end = time.monotonic() + seconds
        while not interface.is_told_to_stop(self.flags.status_file):
            if (left := end - time.monotonic()) <= 0:
                return True
            time.sleep(min(left, 1.0))
        return False

    def _new_commits(self) -> Iterator[Commit]:
        try:
            newest = self.repository.bring(self.flags.remote, self.flags.branch)
        except (FetchError, TargetError) as error:
            wrong = isinstance(error, TargetError) and not self.finished  # the branch never was there
            if self.flags.interval is None or wrong:
                raise
            self.say(f"{error}; it is tried again")
            return
        if not self.finished:
            yield self.repository.resolve(self.flags.commit) if self.flags.commit else newest
        last, known = self.finished[-1], {*self.finished}
        lost = commits.describe_lost_commit(last, self.flags.branch)
        fresh = commits.commits_after(self.repository, last, newest, known, lambda: self.say(lost))
        yield from take_every(fresh, self.flags.step)

    def _read_commit_file(self) -> list[str]:
        """Reads the commit that the commit file names; says so when it names none, and goes on."""
        name = interface.read_commit(self.flags.commit_file)
        if not name:
            return []
        try:
            return [self.repository.resolve(name).revision.id]
        except TargetError:
            begin = self.flags.commit or self.flags.branch
            self.say(f"{self.flags.commit_file} names no commit ({name[:40]!r}): beginning at {begin}")
            return []

    def _handle_commit(self, commit: Commit) -> int:
        code = 0
        for platform in self.flags.platforms:
            code = max(code, self._handle_platform(platform, commit))
            if code == INTERRUPTED_CODE:  # the commit is not finished
                return code
        self.finished.append(commit.revision.id)
        interface.write_commit(self.flags.commit_file, commit.revision.id)
        return code

    def _handle_platform(self, platform: str, commit: Commit, *, as_it_is: bool = False) -> int:
        builds = Programs(flags=self.flags, repository=self.repository, platform=platform)
        turn = interface.hold_machine() if self.flags.same_host else contextlib.nullcontext()
        with turn:
            treatment = builds.build_working_copy(commit) if as_it_is else builds.build(commit)
            if self._report_failure(treatment):
                return 1
            other = None
            if self.flags.regression or self.flags.ab_testing:
                chosen = choose_control(self.repository, commit, self.flags.base_commit)
                other = builds.build(chosen) if chosen is not None else None
                if other is None or self._report_failure(other):
                    self.say(f"{commit.revision.id[:12]}: there is no control")
                    other = None
            return self._measure(platform, treatment, other) or int(self._lacks_control(other))

    def _lacks_control(self, other: BuiltProgram | None) -> bool:
        return other is None and (self.flags.regression or self.flags.ab_testing)

    def _measure(self, platform: str, treatment: BuiltProgram, other: BuiltProgram | None) -> int:
        document = programs.info_document(treatment, other, dict(self._regression_commits(treatment.commit)))
        words = [*self.flags.words(platform), "--info", json.dumps(document)]
        self.say(f"{treatment.commit.revision.id[:12]} on {platform}: {treatment.commit.revision.subject}")
        try:
            return door.main(words, self.watching)
        except (TargetError, FetchError) as error:  # of this commit or device; the next may do
            if self.flags.single:
                raise
            self.say(str(error))
            return 1

    def _regression_commits(self, commit: Commit) -> Iterator[tuple[str, list[dict[str, object]]]]:
        if self.flags.regression:
            found = self.repository.latest(commit.revision.id, detection.COMMITS)[::-1]
            told = [(each.revision.id, programs.epoch(each.revision.committed_at)) for each in found]
            yield "regression_commits", [{"commit": name, "commit_time": at} for name, at in told]

    def _report_failure(self, program: BuiltProgram) -> bool:
        failure = program.failure
        if failure is not None:
            tail = "".join(f"\n  | {line}" for line in failure.log_tail.splitlines()[-door.TAIL :])
            self.say(f"{failure.message}{tail}")
        return failure is not None


def choose_control(repository: History, treatment: Commit, base: str = "") -> Commit | None:
    """`base` when it is of the treatment's week or later, else the first commit of that week that led to the treatment.

    The week begins on Monday 00:00 UTC before the treatment was authored; a commit belongs where it was committed.
    None when no commit that led to the treatment was committed since then.
    """
    monday = week_of(treatment.authored_at)
    if base:
        named = repository.resolve(base)
        if datetime.fromisoformat(named.revision.committed_at) >= monday:
            return named
    return repository.first_since(monday.isoformat(), treatment.revision.id)


def week_of(instant: str) -> datetime:
    """Monday 00:00 UTC of the week that the instant (ISO 8601) is in."""
    at = datetime.fromisoformat(instant).astimezone(UTC)
    return at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=at.weekday())

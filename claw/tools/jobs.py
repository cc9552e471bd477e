"""Jobs: the background commands of a session, and the `job` tool that looks after them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from claw.errors import ToolError
from claw.log import log
from claw.tools.base import Tool, ToolContext, ToolOutput, tool
from claw.tools.job import Job, JobOutput
from claw.tools.outcome import leftovers
from claw.tools.process_groups import LiveGroups, groups_in
from claw.tools.state import SHELL_FAMILY, kept_in
from claw.tools.whole_output import OutputFolder, WholeOutput

MOST_RUNNING = 8
ENDED_KEPT = 32
END_WAIT_S = 5.0
LONGEST_WAIT_S = 600.0
COMMAND_CHARS = 80


class Jobs:
    """The jobs of one session, by number. Every method is for any thread.

    `close` ends those that still run. The group of each is in `groups` as well, so whoever kills
    all groups at once kills the jobs' too.
    """

    def __init__(self, groups: LiveGroups, outputs: OutputFolder) -> None:
        self._groups = groups
        self._outputs = outputs
        self._numbers = count(1)
        self._jobs: dict[int, Job] = {}
        self._lock = Lock()

    def start(
        self,
        command: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout: float | None,
        in_front: str = "",
        on_end: Callable[[], list[str]] = list,
    ) -> Job:
        """Starts `argv`; `command` is its name, in_front: see Sandbox, on_end: see Job. ToolError
        when too many run, else as Child."""
        from claw.tools.process import Child  # see shell.py

        with self._lock:
            self._check_room()
            child = Child(argv, cwd=cwd, env=env, groups=self._groups)
            output = JobOutput(self._new_file())
            number = next(self._numbers)
            job = Job(number, command, child, output, timeout, in_front, on_end)
            self._jobs[job.number] = job
            return job

    def all(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())

    def get(self, number: int | None) -> Job:
        """ToolError with the numbers there are for one that isn't."""
        with self._lock:
            job = self._jobs.get(number or 0)
            if job is None:
                known = ", ".join(map(str, self._jobs)) or "none"
                asked = "give the job's id" if number is None else f"there is no job {number}"
                raise ToolError(f"{asked}; the jobs are: {known}")
            return job

    def endings(self) -> list[str]:
        """A line for each job that has ended and whose end nobody was told yet, and for what was
        put right then."""
        with self._lock:
            news = [job for job in self._jobs.values() if job.result is not None and not job.told]
            for job in news:
                job.told = True
        return [
            line
            for job in news
            for line in (f"job {job.number} ended: {job.state(job.result)}", *job.changes)
        ]

    def close(self) -> None:
        jobs = self.all()
        for job in jobs:
            job.end()
        for job in jobs:
            job.join(END_WAIT_S)
            for line in () if job.told else job.changes:
                log().warning("%s", line)

    def _check_room(self) -> None:
        running = [job for job in self._jobs.values() if job.result is None]
        if len(running) >= MOST_RUNNING:
            raise ToolError(f"not run: {MOST_RUNNING} jobs run already, the most there may be")
        for number in [number for number, job in self._jobs.items() if job.result][:-ENDED_KEPT]:
            del self._jobs[number]

    def _new_file(self) -> WholeOutput | None:
        try:
            return self._outputs.new_output()
        except OSError:
            return None  # no place for a file: what is unread is kept all the same


def jobs_in(state: dict[str, Any], outputs: OutputFolder) -> Jobs:
    """The Jobs of a session's shell family, made when first asked for."""
    return kept_in(state, "jobs", Jobs, lambda: Jobs(groups_in(state), outputs))


def job_endings(state: Mapping[str, Any]) -> list[str]:
    """`Jobs.endings` of a session's shell family, which may have no jobs."""
    jobs: Jobs | None = state.get("jobs")
    return jobs.endings() if jobs is not None else []


def job_tool() -> Tool:
    """The `job` tool. It shares the state of `bash`.

    read_only, so nobody is asked: it touches nothing but what approved calls of the session
    started. Calls of one reply may therefore run side by side; each piece of output goes to one.
    """

    @tool(family=SHELL_FAMILY, read_only=True, may_repeat=True)
    def job(
        action: Literal["list", "read", "end"],
        context: ToolContext,
        id: Annotated[int | None, "The job's number; list needs none"] = None,
        wait_s: Annotated[float | None, "Seconds, at most 600"] = None,
    ) -> ToolOutput:
        """Lists, reads or ends the jobs that bash started in the background.

        read gives what is new since the last read; with wait_s it first waits for the job's end,
        which is better than reading again and again. end ends all that the job started, too.
        """
        jobs: Jobs | None = context.state.get("jobs")
        if jobs is None:
            raise ToolError("there are no jobs: bash starts one with background=true")
        if action == "list":
            return _list(jobs)
        chosen = jobs.get(id)
        if action == "end":
            chosen.end()
            chosen.wait(context.cancel, END_WAIT_S)
        elif wait_s is not None:
            chosen.wait(context.cancel, min(max(0.0, wait_s), LONGEST_WAIT_S))
        return _report(chosen, jobs)

    return job


def _list(jobs: Jobs) -> ToolOutput:
    known = jobs.all()
    lines = [f"job {job.number}: {_told(job)[0]}: {_shortened(job.command)}" for job in known]
    return ToolOutput("\n".join(lines), details={"jobs": [_details(job) for job in known]})


def _report(job: Job, jobs: Jobs) -> ToolOutput:
    state, *more = _told(job)
    # After the state: once that is an end, the output is complete.
    output = job.output.take() or "(no new output)"
    lines = [f"job {job.number}: {state}", *more, *jobs.endings(), output]
    return ToolOutput("\n".join(lines), details=_details(job))


def _told(job: Job) -> list[str]:
    """How the job is doing; if it has ended, the model knows it from now on."""
    result = job.result
    if result is None:
        return [job.state(None)]
    job.told = True
    return [job.state(result), *leftovers(result, job.in_front), *job.changes]


def _shortened(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= COMMAND_CHARS else f"{line[: COMMAND_CHARS - 1]}…"


def _details(job: Job) -> dict[str, Any]:
    result = job.result
    return {
        "job": job.number,
        "running": result is None,
        "exit_code": result and result.exit_code,
        "duration_s": result and result.duration_s,
    }

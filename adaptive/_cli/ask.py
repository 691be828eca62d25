"""`ballots ask`: a program votes. It reads one comparison a line and answers each in one line, as JSON."""

import json
import math
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import IO, Any, Final, NamedTuple

import click

from adaptive._cli.output import print_note
from adaptive._cli.vote_files import check_voter_name, side_bias_text
from adaptive._formats.records import Cells, records_of_file
from adaptive._formats.votes import VoteFile, VoteRow, read_votes, vote_columns, votes_csv
from adaptive._tables import cell_number
from adaptive.choices._judges import side_bias_of
from adaptive.errors import VoteError
from rankcorr import OptionError
from rankcorr._checks import check_declared, counted, declare, real_number, repeated
from rankcorr._cli.console import argument, command, flag_option, named_errors, options_of, progress_bar, text_option
from rankcorr._io.source import printable, sync_folder
from rankcorr.errors import TableError

_WINNERS: Final = {"left": "left", "right": "right", "tie": "tie", None: "cannot say"}
_SAME_ITEM: Final = {"left": "right", "right": "left"}  # answers that agree once the sides are exchanged
_PROMPT: Final = "prompt"  # the column that `ballots next --prompts` writes
_SIDES: Final = ("shown", "exchanged")  # columns with both answers of --both-sides
_NEEDED: Final = ("comparison", "left", "right", "winner")
_GRACE: Final = 1.0  # seconds that a program has to end by itself


class ProgramAnswer(NamedTuple):
    """The answer of a program, in the words of a file of votes, and its cost if known."""

    winner: str
    cost: float | None


@dataclass(frozen=True)
class AskLimits:
    """How long to wait for a program that votes, and when to stop asking it."""

    retries: int = declare(int, 3, least=0, about="Maximum restarts of the program for one question.")
    timeout: float = declare(float, 60.0, above=0, most=86_400, about="Longest wait for an answer, in seconds.")
    most: int | None = declare(int, None, least=1, about="Maximum number of comparisons to ask in this run.")
    most_cost: float | None = declare(float, None, above=0, about="Maximum cost of all votes in --out.")
    most_seconds: float | None = declare(float, None, above=0, about="Stop asking after so many seconds.")

    def __post_init__(self) -> None:
        check_declared(self, OptionError)

    def find_limit(self, n_asked: int, spent: float, dearest: float, since: float) -> str | None:
        """Return the option that forbids one more comparison, which may cost as much as the dearest so far."""
        if self.most is not None and n_asked >= self.most:
            return "--most"
        # Ten costs of 0.1 add up to no exact 1.
        if self.most_cost is not None and spent + dearest > self.most_cost * (1 + 1e-9):
            return "--most-cost"
        if self.most_seconds is not None and time.monotonic() - since >= self.most_seconds:
            return "--most-seconds"
        return None


class Judge:
    """A program that votes. It is started by the first question, and restarted if it ends or is silent for too long."""

    def __init__(self, text: str, limits: AskLimits) -> None:
        try:
            self.arguments = shlex.split(text)
        except ValueError as error:
            raise OptionError(f"--judge cannot be split into words: {error}") from error
        if not self.arguments:
            raise OptionError("--judge names no program")
        self.limits = limits
        self.n_retries = 0
        self._process: Any = None  # of subprocess, with pipes
        self._timed_out = False

    def ask(self, name: str, left: object, right: object, prompt: str | None = None) -> ProgramAnswer:
        """Ask which of two items is better, as an answer to a prompt if there is one.

        Raises
        ------
        VoteError
            An answer that is not valid, or no answer after all retries.
        """
        on_prompt = {} if prompt is None else {"prompt": prompt}
        question = json.dumps({"id": name, **on_prompt, "left": left, "right": right}).encode() + b"\n"
        for attempt in range(self.limits.retries + 1):
            self.n_retries += attempt > 0
            line = self._exchanged(question)
            if line.endswith(b"\n"):
                return self._read(line, name)
            status = self.end(_GRACE)
            timeout = f"took more than {self.limits.timeout:g} seconds"
            why = timeout if self._timed_out else f"ended with status {status}"
        raise VoteError(f"comparison {name!r}: the judge {why}, {counted(self.limits.retries + 1, 'time')}")

    def _exchanged(self, question: bytes) -> bytes:
        """Send a question and return the line of the answer, which is incomplete if the program ended first."""
        process = self._process or self._start()
        timer = Timer(self.limits.timeout, self._stop_late)
        timer.start()
        try:
            with suppress(OSError):  # of a program that has ended: reading tells
                process.stdin.write(question)
                process.stdin.flush()
            line: bytes = process.stdout.readline()
            return line
        finally:
            timer.cancel()

    def _start(self) -> Any:
        try:
            # A separate process group, so that the children of a script end with it.
            self._process = subprocess.Popen(
                self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise OptionError(f"--judge: {self.arguments[0]} cannot be started: {error}") from error
        self._timed_out = False
        return self._process

    def _stop_late(self) -> None:
        self._timed_out = True
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            with suppress(OSError):  # it has just ended
                os.killpg(self._process.pid, signal.SIGKILL)

    def _read(self, line: bytes, name: str) -> ProgramAnswer:
        def fail(message: str) -> VoteError:
            text = printable(line.decode(errors="backslashreplace").rstrip("\n"), limit=200)
            return VoteError(f"comparison {name!r}: the judge's answer {message}; got the line {text}")

        try:
            answer = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise fail("is not JSON") from None
        if not isinstance(answer, dict) or not {"id", "winner"} <= answer.keys():
            raise fail('must be an object with "id" and "winner"')
        if answer["id"] != name:
            raise fail("has another id; answers come in the order of the questions")
        winner, cost = answer["winner"], answer.get("cost")
        if not isinstance(winner, str | None) or winner not in _WINNERS:
            raise fail('must have the winner "left", "right", "tie" or null')
        if cost is None and self.limits.most_cost is not None:
            raise fail('must have a "cost", which --most-cost needs')
        if cost is not None and not 0 <= real_number(cost) < math.inf:
            raise fail("must have a cost that is a finite number of 0 or more")
        return ProgramAnswer(_WINNERS[winner], cost)

    def end(self, grace: float) -> int:
        """End the program, which has `grace` seconds to end by itself, and return its status."""
        process, status = self._process, 0
        if process is not None:
            with suppress(OSError):  # what it has not read
                process.stdin.close()
            try:
                status = process.wait(grace)
            except subprocess.TimeoutExpired:
                self._kill()
                status = process.wait()
            process.stdout.close()
            self._process = None
        return status

    def close(self) -> None:
        """End the program after an error, at once."""
        self.end(0)


@command("ask", short_help="Let a program vote on comparisons.")
def ask_command(
    pairs: str = argument(),
    text: str = text_option("COMMAND", "The program with its arguments; no shell.", "--judge", required=True),
    out: str = text_option("FILE", "Votes; a file of an earlier run is continued.", required=True),
    voter: str | None = text_option("NAME", "Name of the judge: only its comparisons are asked."),
    both_sides: bool = flag_option("Ask each pair again with its sides exchanged."),
    limits: AskLimits = options_of(AskLimits),
) -> None:
    """Let a program vote on the comparisons of PAIRS, a file of `ballots next` or `ballots run open`.

    The program is started once. It reads one line for each comparison, {"id": "1-0-0", "left": "lion", "right":
    "tiger"}, and writes one line for each, {"id": "1-0-0", "winner": "left"}: left, right, tie, or null if it cannot
    say, and "cost" if it knows one. It must not hold lines back in a buffer. Items of several columns are lists. If
    PAIRS has a column prompt, questions and FILE have it too. If the program ends or does not answer in time, it is
    started again; an invalid answer is an error.

    Each vote is on disk before the next question is sent. After a kill, the same command continues, and skips
    comparisons that have a winner in PAIRS or in FILE. With --both-sides, answers that disagree make a tie, and the
    side bias is printed: the share of pairs that left won both times, minus the share that right won both times. If
    PAIRS has no voters, --voter names them.

    Example:
      ballots ask pairs.csv --judge "python3 judge.py" --voter judge --both-sides --out votes.csv
      ballots fit votes.csv
    """
    if voter is not None:
        check_voter_name(voter)
    with closing(Judge(text, limits)) as judge:
        questions = _read_pairs(pairs, voter)
        selected_rows = [row for row in questions.values() if voter in (None, row.voter)]
        if not selected_rows:
            raise OptionError(f"{pairs} has no comparison{'' if voter is None else f' for the voter {voter!r}'}")
        with _votes_file(out, pairs, questions, both_sides) as (votes, file):
            left = [row for row in selected_rows if row.answer is None and row.comparison not in votes]
            n_before = len(votes)
            stopped = _ask_all(judge, left, out, file, votes, both_sides=both_sides)
            n_asked = len(votes) - n_before
        judge.end(_GRACE)
    _print_summary(list(votes.values()), n_asked, len(selected_rows) - len(left), judge.n_retries)
    if both_sides:
        _print_side_bias(list(votes.values()))
    if stopped:
        print_note(f"stopped by {stopped}: {counted(len(left) - n_asked, 'comparison')} left")


def _ask_all(
    judge: Judge, rows: Sequence[VoteRow], out: str, file: IO[bytes], votes: dict[str, VoteRow], *, both_sides: bool
) -> str | None:
    """Ask the comparisons, and add each vote to the file before the next; return the option that stopped it, if any."""
    costs = [_cost(vote) or 0.0 for vote in votes.values()]
    spent, dearest, start = math.fsum(costs), max(costs, default=0.0), time.monotonic()
    with progress_bar(len(rows), "comparison", "answers of the judge") as advance:
        for n_asked, row in enumerate(rows):
            if stopped := judge.limits.find_limit(n_asked, spent, dearest, start):
                return stopped
            try:
                vote = _vote(judge, row, both_sides)
            except VoteError as error:
                raise VoteError(f"{error}; {counted(len(votes), 'vote')} kept in {out}") from None
            with named_errors(out):
                file.write(_lines(vote, both_sides)[1].encode())
                file.flush()
                os.fsync(file.fileno())
            votes[str(row.comparison)] = vote
            cost = _cost(vote) or 0.0
            spent, dearest = spent + cost, max(dearest, cost)
            advance(1)
    return None


def _read_pairs(path: str, voter: str | None) -> dict[str, VoteRow]:
    """Return comparisons by id; if the file has no voters, all belong to `voter`."""
    records = records_of_file(path)
    if not isinstance(records, Cells):
        records.table.fail("is JSON; expected comparisons as CSV, as `ballots next` and `ballots run open` write them")
    file = vote_columns(records, "csv", {}, None, needed=_NEEDED).file()
    _check_ids(file)
    named = [row if row.voter is not None else row._replace(voter=voter) for row in file.rows]
    return {str(row.comparison): row for row in named}


def _check_ids(file: VoteFile) -> None:
    if again := repeated([row.comparison for row in file.rows]):
        first, second = [row.line for row in file.rows if row.comparison == again[0]][:2]
        file.fail(f"comparison {again[0]!r} is listed twice (lines {first} and {second})", second)


def _vote(judge: Judge, row: VoteRow, both_sides: bool) -> VoteRow:
    """The row with the answer of the program, and what else is stored with it."""
    name = str(row.comparison)
    prompt = _prompt(row)
    answers = [judge.ask(name, row.left, row.right, prompt)]
    if both_sides:  # another id: a program may keep answers by id
        answers.append(judge.ask(f"{name} exchanged", row.right, row.left, prompt))
    first_winner, *exchanged = (answer.winner for answer in answers)
    costs = [answer.cost for answer in answers if answer.cost is not None]
    extra = {} if prompt is None else {_PROMPT: prompt}
    extra["cost"] = f"{math.fsum(costs):.12g}" if costs else ""
    winner = first_winner
    if exchanged:
        extra |= dict(zip(_SIDES, (first_winner, *exchanged), strict=True))
        if "cannot say" in (first_winner, *exchanged):
            winner = "cannot say"
        elif _SAME_ITEM.get(*exchanged) != first_winner:
            winner = "tie"
    return row._replace(answer=winner, extra=tuple(extra.items()))


def _prompt(row: VoteRow) -> str | None:
    return dict(row.extra).get(_PROMPT)


def _lines(row: VoteRow, both_sides: bool) -> tuple[str, str]:
    """The header of the file of votes, and the line of one vote, as CSV."""
    extra = dict(row.extra)
    more = {name: [extra.get(name, "")] for name in ("cost", *(_SIDES if both_sides else ()))}
    beside = {"voter": row.voter, _PROMPT: _prompt(row)}
    known = {name: [value] for name, value in beside.items() if value is not None}
    sides = {"left": [row.left], "right": [row.right]}
    header, end, line = votes_csv(
        {"comparison": [row.comparison], **known, **sides, "winner": [row.answer], **more}
    ).partition("\n")
    return header + end, line


@contextmanager
def _votes_file(
    out: str, pairs: str, questions: Mapping[str, VoteRow], both_sides: bool
) -> Iterator[tuple[dict[str, VoteRow], IO[bytes]]]:
    """Give the votes so far, and the file, open for more; a last line that was not written to its end is dropped."""
    path = Path(out)
    if path.exists() and not path.is_file():
        raise TableError(f"{out}: is not a file")
    header = _lines(next(iter(questions.values())), both_sides)[0].encode()
    with named_errors(out):
        data = path.read_bytes() if path.exists() else b""
    n_whole = data.rfind(b"\n") + 1
    complete_lines, torn = data[:n_whole], data[n_whole:]
    if not complete_lines.startswith(header) and (complete_lines or not header.startswith(torn)):
        raise TableError(
            f"{out}:1: cannot be continued: expected the columns {printable(header.decode()[:-1], limit=None)}; "
            "choose another file"
        )
    votes = _read_votes(out, complete_lines, pairs, questions) if n_whole > len(header) else {}
    with named_errors(out):
        file = path.open("ab")
    with file:
        with named_errors(out):
            if torn:
                file.truncate(n_whole)
                print_note(
                    f"{out}: the last line was not complete and is dropped: {printable(torn.decode(errors='replace'))}"
                )
            if not complete_lines:
                file.write(header)
            file.flush()
            os.fsync(file.fileno())
            sync_folder(path.parent)
        yield votes, file


def _read_votes(out: str, data: bytes, pairs: str, questions: Mapping[str, VoteRow]) -> dict[str, VoteRow]:
    """The votes of an earlier run; an error if one does not belong to the pairs."""
    file = read_votes(out, format="csv", needed=_NEEDED, data=data).file()
    _check_ids(file)
    for row in file.rows:
        pair = questions.get(str(row.comparison))
        parts = (row.voter, row.left, row.right, _prompt(row))
        if pair is None or (pair.voter, pair.left, pair.right, _prompt(pair)) != parts:
            also = "" if _prompt(row) is None else ", this prompt"
            file.fail(
                f"comparison {row.comparison!r} with this voter{also} and these items is not in {pairs}", row.line
            )
        if row.answer is None:
            file.fail(f"comparison {row.comparison!r} has no winner", row.line)
        if not 0 <= (_cost(row) or 0.0) < math.inf:
            file.fail(f"comparison {row.comparison!r} has a cost that is not a finite number of 0 or more", row.line)
    return {str(row.comparison): row for row in file.rows}


def _cost(row: VoteRow) -> float | None:
    cell = dict(row.extra).get("cost")
    return cell_number(cell) if cell else None


def _print_summary(votes: Sequence[VoteRow], n_asked: int, n_skipped: int, n_retries: int) -> None:
    """Print what was done in this run, and what all votes of the file are and cost."""
    costs = [cost for cost in map(_cost, votes) if cost is not None]
    click.echo(
        f"{counted(n_asked, 'comparison')} asked, {n_skipped:,} skipped, {counted(n_retries, 'retry', 'retries')}; "
        f"{counted(len(votes), 'vote')} in all, {counted(sum(vote.answer == 'tie' for vote in votes), 'tie')}"
        + (f", cost {math.fsum(costs):.6g}" if costs else "")
    )


def _print_side_bias(votes: Sequence[VoteRow]) -> None:
    """Print the side bias, with its interval."""
    sides = [tuple(dict(vote.extra).get(name) for name in _SIDES) for vote in votes if vote.answer != "cannot say"]
    n_left, n_right, n = sides.count(("left", "left")), sides.count(("right", "right")), len(sides)
    if not n:
        return
    click.echo(side_bias_text(side_bias_of(n_left, n_right, n)))

"""Another tool as a maker of releases: a command line with {in} and {out}, run without a shell."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.shadows import Maker
from recveil.formats import read
from recveil.measurement import SkippedError

SECONDS = 600.0  # that a command may take for one release


def command_maker(command: str, seconds: float = SECONDS) -> Maker:
    """A maker that writes people to a csv file, runs the command, and reads what it wrote.

    {in} and {out} stand for the two files and {seed} for a number; each is put into one argument, whatever it holds. A
    command that fails refuses these people; one that hangs, or is not there, ends the attack.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise RecveilError(f"--command cannot be read: {error}; write it as in a terminal") from None
    if not any("{in}" in word for word in words) or not any("{out}" in word for word in words):
        raise RecveilError('--command names the files it reads and writes: "tool {in} {out}"')

    def make(people: Interactions, seed: int) -> Interactions:
        with TemporaryDirectory(prefix="recveil-") as folder:
            given, made = Path(folder) / "in.csv", Path(folder) / "out.csv"
            people.frame().write_csv(given)
            values = {"{in}": str(given), "{out}": str(made), "{seed}": str(seed)}
            arguments = [_filled(word, values) for word in words]
            try:
                done = subprocess.run(arguments, capture_output=True, timeout=seconds, check=False)
            except subprocess.TimeoutExpired:
                raise SkippedError(f"{words[0]} did not finish within {seconds:g} seconds") from None
            except OSError as error:
                raise SkippedError(f"{words[0]} cannot be run: {error.strerror}") from None
            if done.returncode:
                last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                raise RecveilError(
                    f"{words[0]} failed with exit code {done.returncode}" + (f": {last[0]}" if last else "")
                )
            if not made.is_file():
                raise SkippedError(f"{words[0]} ended well and wrote nothing to {{out}}")
            return read(made, duplicates="all")

    return make


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word

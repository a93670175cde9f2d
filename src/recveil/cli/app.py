"""The command-line application: its commands, its exit codes, and one clear line instead of a traceback.

Exit codes: 0 done, 1 the input or the request is wrong, 2 usage, 3 a check did not hold, 4 nothing to do.
"""

import os
import sys
from _thread import interrupt_main
from threading import Timer
from typing import Any, NoReturn

import click

from recveil.cli.advisor import advisor
from recveil.cli.arguments import say
from recveil.cli.assess import assess
from recveil.cli.audit import audit
from recveil.cli.clicks import clicks
from recveil.cli.commands import Group, command_of
from recveil.cli.compare import compare
from recveil.cli.decide import decide
from recveil.cli.demo import demo
from recveil.cli.desk import desk
from recveil.cli.dossier import dossier
from recveil.cli.export import export
from recveil.cli.inspect import inspect
from recveil.cli.judge import judge
from recveil.cli.keys import keys
from recveil.cli.ledger import ledger
from recveil.cli.measure import measure
from recveil.cli.mechanisms import mechanisms
from recveil.cli.predict import predict
from recveil.cli.recommend import recommend
from recveil.cli.release import release
from recveil.cli.reproduce import reproduce
from recveil.cli.run import run
from recveil.cli.series import series
from recveil.cli.store import store
from recveil.cli.tune import tune
from recveil.cli.verify import verify
from recveil.cli.withdraw import withdraw
from recveil.errors import NO_MEMORY, RecveilError, not_installed

INTERRUPTED = 130  # what a shell says of a program that Ctrl-C ended

# The way of a release, as --help shows it.
GROUPS = {
    "Start": ("demo", "desk", "run"),
    "Look": ("inspect", "assess", "mechanisms"),
    "Protect": ("release", "series", "tune", "recommend", "predict"),
    "Attack and judge": ("measure", "compare", "audit"),
    "Decide and publish": ("decide", "dossier", "verify", "withdraw", "export", "keys", "ledger"),
    "The way back": ("judge",),
    "The click advisor": ("clicks", "advisor", "store"),
    "Papers": ("reproduce",),
}
# Names of the version before, which still work and say the new one.
OLD_NAMES = {"attack": ["measure"], "serve": ["advisor", "serve"]}


class CommandsByTheWay(Group):
    """Commands in the order of the work, not of the alphabet."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if new := OLD_NAMES.get(args[0]):
            say(f"recveil {args[0]} is recveil {' '.join(new)} now; the old name goes with the next version")
            args = [*new, *args[1:]]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(62)) for name in names])


def _version(_context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from recveil import __version__

        print(__version__)
        raise SystemExit(0)


app = CommandsByTheWay(
    "recveil",
    "The release desk for recommender data: assess, protect, attack, compare and publish.",
    params=[
        click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show it.")
    ],
)
for one in (
    assess, audit, clicks, compare, decide, demo, desk, export, inspect, measure, mechanisms, predict, recommend,
    release, reproduce, run, tune, verify, withdraw,
):  # fmt: skip
    app.add_command(command_of(one))
for group in (advisor, judge, dossier, keys, ledger, series, store):
    app.add_command(group)


class _Interrupts:
    """Ctrl-C that C code does not pass on: callbacks of the compiler swallow it, elsewhere it becomes another error."""

    def __init__(self) -> None:
        self.swallowed = self.over = False
        self._before, sys.unraisablehook = sys.unraisablehook, self._unraisable

    def _unraisable(self, seen: "sys.UnraisableHookArgs") -> None:
        if self.over:
            return
        if not issubclass(seen.exc_type, KeyboardInterrupt):
            self._before(seen)
            return
        self.swallowed = True
        again = Timer(0.1, interrupt_main)  # when the callback is over
        again.daemon = True
        again.start()

    def behind(self, error: BaseException | None) -> bool:
        while error and not isinstance(error, KeyboardInterrupt):
            error = error.__cause__ or error.__context__
        return self.swallowed or error is not None

    def end(self) -> None:
        if not self.over:  # at the end of a stopped process nobody asks what else is put away
            sys.unraisablehook = self._before

    def stop(self) -> NoReturn:
        self.over = True
        print("recveil: stopped; nothing half written is left behind", file=sys.stderr)
        sys.exit(INTERRUPTED)


def main() -> None:
    # The allocator inside polars, read when it is loaded: give back at once what reading a large log took.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    interrupts = _Interrupts()
    try:
        sys.exit(app.main(prog_name="recveil", standalone_mode=False))
    except click.ClickException as wrong:
        wrong.show()
        sys.exit(wrong.exit_code)
    except RecveilError as error:
        print(f"recveil: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as missing:
        print(f"recveil: {not_installed(missing)}", file=sys.stderr)
        sys.exit(1)
    except MemoryError:
        print(f"recveil: {NO_MEMORY}; nothing half written is left behind", file=sys.stderr)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):  # which click makes of Ctrl-C
        interrupts.stop()
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        if interrupts.behind(error):
            interrupts.stop()
        raise
    finally:
        interrupts.end()

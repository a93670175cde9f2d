"""Commands from functions: a parameter that is an option is one, and a request is all that it asks for."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from typing import Any, get_args, get_origin

import click

from recveil.errors import RecveilError
from recveil.options import Argument, Option, Request, made, options_of

Function = Callable[..., None]
CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}
KINDS: dict[str, Any] = {"int": click.INT, "float": click.FLOAT, "bool": click.BOOL, "str": click.STRING}


def _nothing(_context: click.Context, parameter: click.Parameter, given: Any) -> None:
    if given is not None:
        print(
            f"{parameter.opts[0]} does nothing here; leave it out: the next version does not know it", file=sys.stderr
        )


# Every command took a seed once, also where nothing is drawn.
OLD_SEED = click.Option(["--seed"], hidden=True, expose_value=False, callback=_nothing)


class Group(click.Group):
    """A command of several; without one of them it shows its help."""

    def __init__(self, name: str, help: str, **settings: Any) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings=dict(CONTEXT), **settings)

    def adds(self, name: str = "", **settings: Any) -> Callable[[Function], Function]:
        """A function becomes a command of this group, under its own name or another."""

        def add(function: Function) -> Function:
            self.add_command(command_of(function, name, **settings))
            return function

        return add


class Command(click.Command):
    """Calls a function. What its requests ask for is looked up when it is called, or its help is: they load more."""

    def __init__(self, function: Function, name: str, **settings: Any) -> None:
        self._function = function
        self._found: list[click.Parameter] = []
        self._requests: dict[str, tuple[Any, list[str]]] = {}
        about = cleandoc(function.__doc__ or "")
        super().__init__(name, callback=self._call, help=about, context_settings=CONTEXT | settings)

    @property
    def params(self) -> list[click.Parameter]:
        if not self._found:
            self._found = list(self._parameters())
            if all(one.name != "seed" for one in self._found):
                self._found.append(OLD_SEED)
            names = [one.name for one in self._found]
            assert len(names) == len(set(names)), f"{self.name} asks twice for one of {sorted(map(str, names))}"
        return self._found

    @params.setter
    def params(self, _given: list[click.Parameter]) -> None:
        """Its function says them."""

    def _parameters(self) -> Iterator[click.Parameter]:
        for one in signature(self._function, eval_str=True).parameters.values():
            kind, spelling = get_args(one.annotation)
            if isinstance(spelling, Request):
                request = getattr(import_module(spelling.module), kind.__forward_arg__)
                asked = list(options_of(request))
                self._requests[one.name] = request, [field.name for field, _ in asked]
                yield from (_parameter(f.name, str(f.type), f.default, said) for f, said in asked)
            else:
                default = MISSING if one.default is Parameter.empty else one.default
                yield _parameter(one.name, _text(kind), default, spelling)

    def _call(self, **given: Any) -> None:
        for into, (request, names) in self._requests.items():
            given[into] = made(request, {field: given.pop(field) for field in names})
        self._function(**given)


def command_of(function: Function, name: str = "", **settings: Any) -> click.Command:
    """The command that calls a function."""
    return Command(function, name or function.__name__, **settings)


def _text(kind: Any) -> str:
    """An annotation as it is written."""
    return kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind)


def _parameter(name: str, kind: str, default: Any, spelling: Option) -> click.Parameter:
    """An option or argument of click: what a type says decides how its text is read."""
    bare = kind.removesuffix(" | None")
    facts: dict[str, Any] = {"help": spelling.help, "metavar": spelling.metavar, **spelling.facts}
    several = bare.startswith("list[") or spelling.many or bool(spelling.once)
    low, high = facts.pop("min", None), facts.pop("max", None)
    facts["type"] = KINDS.get(bare, click.STRING)
    if low is not None or high is not None:
        facts["type"] = (click.IntRange if bare == "int" else click.FloatRange)(low, high)
    if default is not MISSING:
        facts["default"] = default
    if isinstance(spelling, Argument):
        shown = f"{spelling.metavar}..." if several else spelling.metavar
        facts["metavar"] = shown if default is MISSING else f"[{shown}]"
        return click.Argument([name], nargs=-1 if several else 1, required=default is MISSING, **facts)
    if default is MISSING:
        facts["required"] = True
    reading = tuple if spelling.many else _reading(bare, spelling.spelled(name), spelling.once)
    if reading is not None and "callback" not in facts:
        facts["callback"] = lambda _context, _parameter, value: reading(value)
    names = spelling.names or (spelling.spelled(name),)
    if bare == "bool":
        return click.Option([name, *names], is_flag=True, **{n: v for n, v in facts.items() if n != "type"})
    return click.Option([name, *names], multiple=several, show_envvar=True, **facts)


def _reading(kind: str, option: str, once: str) -> Callable[[Any], Any] | None:
    """What becomes of the text of an option before a function gets it."""
    if once:
        return lambda values: _single(values, once)
    if kind.startswith("list["):
        return lambda values: list(values) or None
    if kind == "tuple[int, ...]":
        return lambda text: numbers(text, option)
    return names if kind == "tuple[str, ...]" else None


def _single(values: Any, why: str) -> Any:
    given = list(dict.fromkeys(values or ()))
    if len(given) > 1:
        raise RecveilError(why.format(len(given)))
    return given[0] if given else None


def names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas."""
    return tuple(name for part in text.split(",") if (name := part.strip())) if text else None


def numbers(text: str | None, option: str) -> tuple[int, ...] | None:
    """Whole numbers separated by commas."""
    try:
        return tuple(int(part) for part in text.split(",")) if text else None
    except ValueError:
        raise RecveilError(f"{option} takes whole numbers such as 2,4,8, not {text!r}") from None

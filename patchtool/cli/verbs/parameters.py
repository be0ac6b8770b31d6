"""What verbs have in common: parameters with their completion, and how a command line is read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from patchtool.cli import completion
from patchtool.domain.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Names = list[str] | None
OnOption = Annotated[
    str | None,
    typer.Option("--on", metavar="RELEASE", help="Another release than the pin.", autocompletion=completion.releases),
]
HtmlOption = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a self-contained HTML page.")]
TreeOption = Annotated[
    str | None,
    typer.Option("--tree", metavar="DIR", help="A checkout, unpacked wheel, site-packages or environment."),
]
JunitOption = Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")]
AnnotateOption = Annotated[bool, typer.Option("--github", help="Print GitHub annotations too.")]


class _Strict:
    """Refuses an option that is given twice where one value counts, and a value that is empty."""

    def make_parser(self, ctx: Any) -> Any:
        """Make the parser of a command line."""
        parser = super().make_parser(ctx)  # type: ignore[misc]
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            if not ctx.resilient_parsing:  # which completion does
                _refuse_repeated(order)
                _refuse_empty(order, values)
            return values, rest, order

        parser.parse_args = parse_args
        return parser


class Verb(_Strict, TyperCommand):
    """A verb."""

    def invoke(self, ctx: Any) -> Any:
        """Run it.

        Raises:
            EnvironmentFault: A program that it wrote to has ended; Typer would take that for a closed stdout, which
                `output.show` has handled, and exit with 1 and without a word.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise EnvironmentFault(
                "a program that patchtool had started ended too early", hint="run it again", cause=error.strerror
            ) from error


class Group(_Strict, TyperGroup):
    """The global options, and the verbs."""


def _refuse_repeated(order: Iterable[Any]) -> None:
    for option, number in Counter(order).items():
        harmless = option.multiple or (option.is_flag and not option.secondary_opts) if _is_option(option) else True
        if number > 1 and not harmless:
            name = "/".join([*option.opts[-1:], *option.secondary_opts])
            raise InputError(f"{name} is given {number} times, and only one can count", hint=f"give {name} once")


def _refuse_empty(order: Iterable[Any], values: Mapping[str, Any]) -> None:
    for parameter in dict.fromkeys(order):
        value = values.get(parameter.name)
        texts = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(text, str) and not text.strip() for text in texts):
            name = parameter.opts[-1] if _is_option(parameter) else parameter.human_readable_name
            raise InputError(f"{name} needs a value, and is empty", hint="an empty shell variable? quote and check it")


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")

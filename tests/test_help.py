"""The help of all commands has one style: it begins with a verb, explains the options, and is not truncated."""

import argparse

import click
import pytest

from adaptive._cli.main import main as ballots
from rankcorr._cli.main import main as rankcorr
from service.server.launch import PROGRAMS, _parser

VERBS = {
    *("Add", "Check", "Choose", "Close", "Compare", "Compute", "Copy", "Correct", "Count", "Draw"),
    *(
        "Erase",
        "Estimate",
        "Evaluate",
        "Exclude",
        "Find",
        "Fit",
        "Fuse",
        "Give",
        "Let",
        "List",
        "Make",
        "Merge",
        "Open",
    ),
    *("Pair", "Plan", "Print", "Rank", "Read", "Record", "Report", "Run", "Say"),
    *("Score", "Search", "Show", "Simulate", "Take", "Test", "Upgrade", "Write"),
}


def commands_of(group, path):
    """All commands below a group, with their paths."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield pytest.param(command, id=f"{path} {name}")
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path} {name}")


COMMANDS = [*commands_of(rankcorr, "rankcorr"), *commands_of(ballots, "ballots")]


def test_all_commands_are_found():
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_description(command):
    short = command.get_short_help_str(limit=60)
    assert short.endswith(".")
    assert not short.endswith("...")
    assert short.split()[0] in VERBS
    assert command.help.split()[0] in VERBS
    for option in command.params:
        if isinstance(option, click.Option):
            text = option.help.partition("  [")[0]
            assert text[0].isupper() or text[0] in "'-", option.name
            assert text.endswith("."), option.name


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_servers_describe_their_options_as_commands_do(program):
    helps = [action.help for action in _parser(program)._actions if action.help != argparse.SUPPRESS]
    assert len(helps) > 2
    for text in helps:
        assert text[0].isupper()
        assert text.endswith(".")


NUMBERS = [
    pytest.param(option, id=f"{command.id} {option.name}")
    for command in COMMANDS
    for option in command.values[0].params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
]


@pytest.mark.parametrize("option", NUMBERS)
def test_options_read_numbers_as_files_do(option):
    for text in ("1_0", "\u0663", " 7 ", "7\n", "nan", "", "0x7"):
        with pytest.raises(click.BadParameter, match="is not a valid"):
            option.type(text, option, None)
    with pytest.raises(click.BadParameter, match="'1e999' is beyond the range of a 64-bit float"):
        option.type("1e999", option, None)

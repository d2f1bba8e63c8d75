"""What every command line of the project shares: one-line errors and the checkpoint option."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tiny_gpt.checkpoint import CheckpointError
from tiny_gpt.prompt import PromptError


class CommandError(Exception):
    """A command can not go on; the message is the one line that the user sees."""


class CommandParser(argparse.ArgumentParser):
    """argparse with help that shows defaults and errors of one line."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(
            prog=f"python -m {prog}",
            description=description,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def run_command(main: Callable[[], int]) -> NoReturn:
    """Run `main` and exit: 0 or its own code, 1 with one line on stderr for an expected error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except (PromptError, CheckpointError, CommandError) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        code = 130
    sys.exit(code)


def add_checkpoint_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--checkpoint FILE`; None stands for the trained model of the repo."""
    parser.add_argument(
        "--checkpoint",
        type=Path,
        default=None,
        metavar="FILE",
        help="a .safetensors or .pt checkpoint; None is the committed trained model",
    )

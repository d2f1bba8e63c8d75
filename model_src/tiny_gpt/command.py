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
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
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

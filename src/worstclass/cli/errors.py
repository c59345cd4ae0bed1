"""Errors of the command line, and the library's messages in its words."""

from __future__ import annotations

import re

from worstclass.exceptions import WorstClassError

#: parameters of the library whose option has another name
RENAMED = {"n_rounds": "rounds", "n_jobs": "jobs", "random_state": "seed", "module": "network"}
#: parameters of the library that an option of the same name stands for, wherever a message names one as code
NAMED = ("skip_corrupt", "allow_equal_rows", "image_size", "val_share", "max_epochs_per_round", "theta")

_PARAMETER = re.compile(r"The '(?:--)?([\w-]+)' parameter of .+? must be ")
_AS_CODE = re.compile(rf"\b({'|'.join(NAMED)})=(?:True\b|\.\.\.)?")
_PHRASES = {
    "--image-size on the command line, image_size= in Python": "give --image-size",
    "load_model(path, module=factory), or --network package.module:callable": "--network package.module:build",
}


class MissingOption(WorstClassError):  # noqa: N818 - read as a sentence
    """An option that is needed here was not given."""

    def __init__(self, option: str, what: str) -> None:
        super().__init__(f"Missing option {option}. {what}")


class ConflictingOptions(WorstClassError):  # noqa: N818
    """Options that do not go together, or an option that has no effect here."""

    def __init__(self, options: str, why: str) -> None:
        super().__init__(f"{options} cannot be used here: {why}")


def in_options(message: str) -> str:
    """Name options of the command line where a message of the library names parameters.

    Examples
    --------
    >>> in_options("The 'n_rounds' parameter of WorstClassBooster must be a positive whole number. Got 0 instead.")
    'Option --rounds must be a positive whole number. Got 0 instead.'
    >>> in_options("Leave them out with skip_corrupt=True.")
    'Leave them out with --skip-corrupt.'
    """
    for phrase, better in _PHRASES.items():
        message = message.replace(phrase, better)
    message = _PARAMETER.sub(lambda found: f"Option {_option(found[1])} must be ", message)
    return _AS_CODE.sub(lambda found: _option(found[1]), message)


def _option(parameter: str) -> str:
    return f"--{RENAMED.get(parameter, parameter).replace('_', '-')}"

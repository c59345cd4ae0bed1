"""``python -m worstclass``: the command line."""

from worstclass.cli import main

main()

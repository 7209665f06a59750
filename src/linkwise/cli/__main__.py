"""Run the command as ``python -m linkwise.cli``."""

from linkwise.cli import main

if __name__ == "__main__":
    main()

"""Run the command as ``python -m linkwise``."""

from linkwise.cli import main

if __name__ == "__main__":
    main()

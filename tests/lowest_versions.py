"""Print the lowest versions that pyproject.toml allows, as pip's constraints."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest_versions(text: str) -> list[str]:
    """Return ``name==version`` for every ``name[extra]>=version`` that is installed."""
    table = tomllib.loads(text)
    wanted = [*table["project"]["dependencies"], *table["dependency-groups"]["test"]]
    found = [re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", each) for each in wanted]
    return sorted({f"{each[1]}=={each[2]}" for each in found if each})


if __name__ == "__main__":
    print("\n".join(lowest_versions(PROJECT.read_text())))  # noqa: T201

"""Files of formats that are not read, and how to turn them into one that is."""

from pathlib import Path

from linkwise.cli._errors import BadInputError
from linkwise.cli._text_files import COMPRESSIONS, extension

_BY_PANDAS = "convert it in Python: pandas.{}.to_csv('table.csv', index=False)"
_SAVE_AS = "open it in a spreadsheet and save it as .xlsx or .csv"
_UNPACK = "unpack it first"
_NO_PICKLES = "loading one can run code, so write the table as .csv where it was made"
_ADVICE = {
    ".zip": _UNPACK,
    ".tar": _UNPACK,
    ".7z": _UNPACK,
    ".xls": _SAVE_AS,
    ".ods": _SAVE_AS,
    ".txt": "rename it to .csv; the mark between fields is found out",
    ".json": _BY_PANDAS.format("read_json('{}')"),
    ".jsonl": _BY_PANDAS.format("read_json('{}', lines=True)"),
    ".ndjson": _BY_PANDAS.format("read_json('{}', lines=True)"),
    ".feather": _BY_PANDAS.format("read_feather('{}')"),
    ".sav": _BY_PANDAS.format("read_spss('{}')"),
    ".dta": _BY_PANDAS.format("read_stata('{}')"),
    ".pkl": _NO_PICKLES,
    ".pickle": _NO_PICKLES,
    ".npz": "write its table as .npy: numpy.save('table.npy', numpy.load('{}')[NAME])",
}


def unknown_ending(path: Path, allowed: str) -> BadInputError:
    """Return the error for a file that is not read, with what to do about it.

    Examples
    --------
    >>> from pathlib import Path
    >>> print(unknown_ending(Path("rows.zip"), "Data files end in .csv"))
    rows.zip: .zip files are not read here; unpack it first. Data files end in .csv.
    """
    ending = extension(path)
    if ending:
        advice = _ADVICE.get(ending, "").format(path)
        why = f"{ending} files are not read here" + (advice and f"; {advice}")
    elif path.suffix.lower() in COMPRESSIONS:
        why = f"name what is compressed, such as {path.stem}.csv{path.suffix}"
    else:
        why = "the name has no ending"
    return BadInputError(f"{path}: {why}. {allowed}.")

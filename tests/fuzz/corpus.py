"""The corpora in the repository: the few inputs that reach what all that were found reach."""

import pathlib
import re
import shutil
import tempfile

MOST_FILES = 60
MOST_BYTES = 100_000
# libFuzzer names what it finds by its hash; the others were put there by hand, for a bug that they once showed.
FOUND = re.compile(r"[0-9a-f]{40}")


def smallest(files, most_files, most_bytes):
    """As many as there may be, the smallest first."""
    chosen = []
    for file in sorted(files, key=lambda file: (file.stat().st_size, file.name)):
        most_bytes -= file.stat().st_size
        if len(chosen) == most_files or most_bytes < 0:
            break
        chosen.append(file)
    return chosen


def merge(target):
    """Takes what was found into the repository. Returns how many files, and bytes, are there then."""
    with tempfile.TemporaryDirectory() as folder:
        # By edges alone: how often each was taken would make it ten times as many.
        status, _ = target.run("-set_cover_merge=1", "-use_counters=0", folder, target.found, target.committed)
        if status != 0:
            raise RuntimeError(f"{target.name}: merging failed: {target.log}")
        kept = [file for file in target.committed.iterdir() if not FOUND.fullmatch(file.name)]
        size = sum(file.stat().st_size for file in kept)
        chosen = smallest(pathlib.Path(folder).iterdir(), MOST_FILES - len(kept), MOST_BYTES - size)
        for file in set(target.committed.iterdir()) - set(kept):
            file.unlink()
        for file in chosen:
            shutil.copy(file, target.committed)
    files = list(target.committed.iterdir())
    return len(files), sum(file.stat().st_size for file in files)

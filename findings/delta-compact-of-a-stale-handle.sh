#!/bin/sh
# Packages: deltalake 1.6.6 and pyarrow 26.0.1, of PyPI.
# Behaviour: with `max_commit_retries=0` an append by a handle that has not seen the newest commit is refused; `optimize.compact` by such
# a handle, with the same properties, commits after that commit.
# Why it surprises: "no retries" makes an append compare-and-swap on the version that the handle read, so one expects it of every commit.
# What it means: who fences writers by the version that their handle read must refuse a compaction in another way, or never compact
# without being the only writer.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat > stale.py <<'PY'
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

ONCE = CommitProperties(max_commit_retries=0)
rows = pa.table({"number": [1]})


def append(handle):
    write_deltalake(handle, rows, mode="append", commit_properties=ONCE)


def compact(handle):
    handle.optimize.compact(commit_properties=ONCE)


for act in (append, compact):
    place = act.__name__
    for _ in range(3):
        write_deltalake(place, rows, mode="append")
    stale = DeltaTable(place)
    write_deltalake(place, rows, mode="append")
    try:
        act(stale)
        said = "committed"
    except CommitFailedError:
        said = "refused"
    print(place, said, DeltaTable(place).version())
PY
venv/bin/python stale.py | tee seen
printf 'append refused 3\ncompact committed 4\n' | diff - seen

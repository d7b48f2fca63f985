#!/bin/sh
# Packages: deltalake 1.6.6 and pyarrow 26.0.1, of PyPI.
# Behaviour: one bit of a text that is flipped in a data file of a Delta table, as written by default (Snappy), is read as
# another text, by delta-rs and by Arrow, also with Arrow's check of page checksums. With GZIP the flips tried are errors.
# Why it surprises: Parquet has checksums of pages and Delta a transaction log, so a spoiled file is expected to be noticed; but
# the writer writes no such checksums, Snappy's blocks in Parquet have none either, and the log keeps sizes only.
# What it means: a disk or copy that flips a bit changes a value silently, such as the name of a user.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat > flip.py <<'PY'
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake

NAME = "first-user-of-the-table"
rows = pa.table({"name": [NAME], "number": [1]})


def readings(codec):
    write_deltalake(codec, rows, writer_properties=WriterProperties(compression=codec))
    (file,) = Path(codec).glob("*.parquet")
    whole = file.read_bytes()
    column = pq.ParquetFile(file).metadata.row_group(0).column(0)
    first = column.dictionary_page_offset or column.data_page_offset
    at = whole.find(NAME.encode(), first) if codec == "SNAPPY" else first + column.total_compressed_size // 4
    found = set()
    for bit in range(4):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        query = QueryBuilder().register("t", DeltaTable(codec))
        for reading in (
            lambda: pa.table(query.execute("SELECT name FROM t").read_all())["name"][0].as_py(),
            lambda: pq.read_table(file, page_checksum_verification=True)["name"][0].as_py(),
        ):
            try:
                found.add("the same" if reading() == NAME else "another text")
            except Exception:
                found.add("an error")
    return found


for codec in ("SNAPPY", "GZIP"):
    print(codec, sorted(readings(codec)))
PY
venv/bin/python flip.py | tee seen
printf "SNAPPY ['another text']\nGZIP ['an error']\n" | diff - seen

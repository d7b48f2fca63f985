#!/bin/sh
# Packages: deltalake 1.6.6 and pyarrow 26.0.1, of PyPI.
# Behaviour: `QueryBuilder` returns columns of text as `string_view`. The rows that a query selects keep the text of every row that was read
# with them, so a pickle of one row in a hundred is more than ten times as large as one of the same rows cast to `string`.
# Why it surprises: the result is a new table of few short rows, not a view of one that somebody made.
# What it means: who sends the result of a query to other processes (Spark's tasks, multiprocessing) sends the table it was selected from.
# Cast to `string` first.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat > selected.py <<'PY'
import pickle

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

ROWS = 100_000
names = [f"a name that is longer than twelve bytes {n}" for n in range(ROWS)]
write_deltalake("t", pa.table({"n": range(ROWS), "name": names}))
found = QueryBuilder().register("t", DeltaTable("t")).execute("select name from t where n % 100 = 0")
batch = pa.table(found.read_all()).combine_chunks()
plain = batch.cast(pa.schema({"name": pa.string()}))
print(batch.schema.field("name").type, batch.num_rows, plain.num_rows, batch == plain.cast(batch.schema))
ratio = len(pickle.dumps(batch)) / len(pickle.dumps(plain))
print("more than ten times" if ratio > 10 else "similar")
PY
venv/bin/python selected.py | tee seen
printf 'string_view 1000 1000 True\nmore than ten times\n' | diff - seen

#!/bin/sh
# Packages: deltalake 1.6.6 and pyarrow 26.0.1, of PyPI.
# Behaviour: an append with `app_transactions=[Transaction("job", 5)]` is written again when the table already records version 5 or 9 of
# "job", and the recorded version goes back to 5.
# Why it surprises: Delta's protocol has application transactions to make retries harmless, and Spark's writer skips a version that the
# table has (`txnAppId`, `txnVersion`). Here the record is only kept.
# What it means: a job that repeats a batch after a crash must compare `transaction_version` itself, and commit by the handle that it
# compared, or rows are doubled. Where Spark writes the same table, a version that went back also makes it accept old batches again.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip -q install deltalake==1.6.6 pyarrow==26.0.1
cat > again.py <<'PY'
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

rows = pa.table({"number": [1]})
for version in (5, 5, 9, 5):
    write_deltalake("t", rows, mode="append", commit_properties=CommitProperties(app_transactions=[Transaction("job", version)]))
    table = DeltaTable("t")
    print(version, table.to_pyarrow_table().num_rows, table.transaction_version("job"))
PY
venv/bin/python again.py | tee seen
printf '5 1 5\n5 2 5\n9 3 9\n5 4 5\n' | diff - seen

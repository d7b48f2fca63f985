#!/bin/sh
# Packages: pytest 9.2.0 with pytest-xdist 3.8.0, the newest of each at the time of writing.
# Behaviour: `--dist loadgroup` ignores `xdist_group`: two tests of one group run in two workers. There is no warning, and
# with pytest 8.4.2 the same command keeps the group together.
# Why it surprises: the option is accepted, the marker is registered, and all tests pass. xdist writes "@group" behind the node
# id of each marked test, into the attribute `_nodeid`; pytest 9.2 computes the node id from another one, so the scheduler
# sees no suffix, and every test is a group of its own.
# What it means: a server, a JVM or a Spark that tests share by a session fixture starts once per worker. Where two of it
# cannot run (a fixed port, a licence, memory), a suite fails now and then. Give such tests a process of their own.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > test_group.py <<'PY'
import os
import time

import pytest


@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("n", range(8))
def test_member(n: int) -> None:
    time.sleep(0.2)
    with open("workers.txt", "a", encoding="utf-8") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\n")
PY

workers() {
  python3 -m venv "env-$1"
  "env-$1/bin/python" -m pip install --quiet --disable-pip-version-check "pytest==$1" pytest-xdist==3.8.0
  rm -f workers.txt
  "env-$1/bin/python" -m pytest -q -p no:cacheprovider -n 2 --dist loadgroup >"out-$1" 2>&1 || { cat "out-$1"; exit 1; }
  sort -u workers.txt | wc -l | tr -d ' '
}

old=$(workers 8.4.2)
new=$(workers 9.2.0)
echo "workers that ran the one group: $old with pytest 8.4.2, $new with pytest 9.2.0 (pytest-xdist 3.8.0)"
[ "$old" = 1 ] && [ "$new" = 2 ]

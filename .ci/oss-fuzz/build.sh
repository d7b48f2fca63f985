#!/bin/bash -eu
# Run by OSS-Fuzz in the image of the Dockerfile beside it: one program per harness, into $OUT.
pip3 install --require-hashes --requirement .ci/requirements.lock
pip3 install --no-deps --no-build-isolation .
export PYTHONPATH="$PWD"
for harness in tests/fuzz/fuzz_*.py; do
  compile_python_fuzzer "$harness" --paths "$PWD" \
    --collect-all ranger_cdap --collect-all servicedef --collect-all spark_sync --collect-submodules tests.fuzz
done

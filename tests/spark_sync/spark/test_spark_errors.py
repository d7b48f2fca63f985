"""What Spark raises, in one sentence: the text of the driver, of a task in Python, of Java below a call of ours."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

# Shortened from what Spark 4.1.1 and its Kafka connector said, each in the situation that its name tells.
SAID = {
    "a table that is not there": (
        "[DELTA_MISSING] the table is gone. SQLSTATE: 42P01;\n'Project [*]\n+- 'UnresolvedRelation [x]",
        "[DELTA_MISSING] the table is gone. SQLSTATE: 42P01;",
    ),
    "the service of a source answers nonsense, in a task": (
        "Job aborted due to stage failure: Task 0\n"
        "Traceback (most recent call last):\n"
        '  File "messaging.py", line 90, in read\n'
        "    raise SyncError(text)\n"
        "ranger_cdap.errors.SyncError: the messaging service answered what is not Avro (sync)\n"
        "\n"
        "\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:601)\n",
        "ranger_cdap.errors.SyncError: the messaging service answered what is not Avro (sync)",
    ),
    "Kafka dropped messages before they were read, in a call of the batch": (
        "[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: An exception was raised by the Python Proxy. "
        "Return Message: Traceback (most recent call last):\n"
        '  File "job.py", line 150, in take\n'
        "    lines += extraction.line_count()\n"
        "py4j.protocol.Py4JJavaError: An error occurred while calling o1404.count.\n"
        ": org.apache.spark.sql.kafka010.KafkaIllegalStateException: Some data may have been lost because they are not "
        "available in Kafka any more;\n"
        "either the data was aged out by Kafka\n"
        "\tat org.apache.spark.sql.kafka010.KafkaExceptions$.couldNotReadOffsetRange(KafkaExceptions.scala:101)\n"
        "Caused by: org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position is out of range\n",
        "Some data may have been lost because they are not available in Kafka any more;",
    ),
    "a call of Java without a word": (
        "Traceback (most recent call last):\npy4j.protocol.Py4JJavaError: An error occurred while calling o1.count.\n",
        "py4j.protocol.Py4JJavaError: An error occurred while calling o1.count.",
    ),
    "nothing": ("", ""),
    "a long line": ("x" * 1000, "x" * 300),
}


@pytest.mark.parametrize(("text", "sentence"), SAID.values(), ids=SAID)
def test_the_reason_is_one_line(text: str, sentence: str) -> None:
    from spark_sync.spark.spark_errors import reason

    assert reason(text) == sentence

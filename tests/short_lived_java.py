"""For programs of Java that live for seconds: compiled quickly rather than well, with room for what was compiled."""

import subprocess

QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"}


def end(process: subprocess.Popen[str]) -> None:
    """Close the input of a program, which ends it; one that goes on is killed."""
    try:
        process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()

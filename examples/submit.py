"""The command `ranger-cdap` as a file for `spark-submit`."""

from ranger_cdap.__main__ import run

if __name__ == "__main__":
    run()

"""The command `ranger-cdap` as the file that `spark-submit` wants."""

from ranger_cdap.cli.main import run

if __name__ == "__main__":
    run()

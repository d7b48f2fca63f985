"""`python -m ranger_cdap` is the command `ranger-cdap`."""

from ranger_cdap.cli.main import run

if __name__ == "__main__":
    run()

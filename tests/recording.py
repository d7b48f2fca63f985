"""Where the events of a real CDAP are, and the entities that it had before."""

from pathlib import Path
from typing import Final

RECORDING: Final = Path(__file__).parent / "data" / "recording"

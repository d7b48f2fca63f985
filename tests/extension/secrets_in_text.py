"""The secrets that an extension gets as files, and the credential of a user, which nothing may show."""

from __future__ import annotations

from pathlib import Path

SECRETS = {role: f"s3cret-of-{role}" for role in ("enforce", "audit", "grant")}
TOKEN = "token-of-alice"


def secret_file(folder: Path, role: str) -> Path:
    path = folder / f"{role}.secret"
    path.write_text(SECRETS[role] + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path

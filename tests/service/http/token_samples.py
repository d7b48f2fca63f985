"""Keys, and tokens signed with them."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

ISSUER, AUDIENCE = "https://issuer.example", "ranger-cdap"


def pem(key: Any) -> bytes:
    found: bytes = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return found


def private_pem(key: Any) -> bytes:
    found: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return found


RSA_KEY, OTHER_KEY = (rsa.generate_private_key(65537, 2048) for _ in range(2))
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def claims(**changes: Any) -> dict[str, Any]:
    made = {"sub": "enforce", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 600} | changes
    return {name: value for name, value in made.items() if value is not ...}


def signed(key: Any = RSA_KEY, algorithm: str = "RS256", headers: Any = None, **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm, headers)


def part(content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def row(key: Any, key_id: str, **changes: Any) -> dict[str, Any]:
    """A public key as a row of a JWK set; a member that is `...` is left out."""
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    made = json.loads(algorithm.to_jwk(key.public_key()))
    made.pop("key_ops", None)
    made |= {"kid": key_id, "use": "sig"} | changes
    return {name: value for name, value in made.items() if value is not ...}


def document(*rows: Any) -> bytes:
    return json.dumps({"keys": rows}).encode()

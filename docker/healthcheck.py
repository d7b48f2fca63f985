"""Is the decision service of this container ready? Ends with 0 if so; asks over loopback, by the service's settings.

`healthcheck.py /health/live` asks whether it is alive, as a probe that needs a client certificate must.
"""

from __future__ import annotations

import http.client
import ssl
import sys

from ranger_cdap.config import load_settings

READY = "/health/ready"


def main(path: str) -> int:
    """0 if that path is answered with 200, else 1."""
    service = load_settings().service
    if service.tls_certificate is None:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=4)
    else:
        # Who answers must have this very certificate; the names in it are for others than this container.
        context = ssl.create_default_context(cafile=service.tls_certificate)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if service.tls_client_ca and service.tls_probe_certificate:
            context.load_cert_chain(service.tls_probe_certificate, service.tls_probe_key)
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=4, context=context)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as e:
        sys.stdout.write(f"{type(e).__name__}\n")
        return 1
    finally:
        connection.close()
    sys.stdout.write(f"{status}\n")
    return int(status != http.client.OK)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:] or [READY]))

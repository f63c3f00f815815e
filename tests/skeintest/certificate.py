"""A certificate for localhost, as servers and clients with TLS need one."""

import subprocess


def make_certificate(folder):
    """(certificate, key) files in `folder`, for localhost, signed by itself."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )
    return certificate, key

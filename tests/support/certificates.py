"""An authority of the tests' own that signs certificates for servers on loopback."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates; `file` is what clients must trust."""

    folder: Path
    file: Path
    certificate: Any
    key: Any

    def sign(self, *names: str, days: int = 2) -> tuple[Path, Path]:
        """Files of a certificate for these hosts and of its key. It has ended already where `days` is below zero."""
        names = names or ("localhost", "127.0.0.1")
        key = ec.generate_private_key(ec.SECP256R1())
        began = datetime.datetime.now(datetime.UTC) - 3 * DAY
        builder = _builder(names[0], self.certificate.subject, key, began, began + (3 + days) * DAY)
        others = x509.SubjectAlternativeName([_general(name) for name in names])
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(others, critical=False).add_extension(identifier, critical=False)
        made = builder.sign(self.key, hashes.SHA256())
        stem = f"{names[0]}-{made.serial_number:x}"
        return _write(self.folder / f"{stem}.pem", made), _write_key(self.folder / f"{stem}.key", key)


def make_authority(folder: Path) -> Authority:
    """A new one, whose files lie in the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority of the tests")])
    builder = _builder("authority of the tests", name, key, now - 10 * DAY, now + 10 * DAY)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    made = builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())
    return Authority(folder, _write(folder / "authority.pem", made), made, key)


def _builder(name: str, issuer: Any, key: Any, began: datetime.datetime, ends: datetime.datetime) -> Any:
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).not_valid_before(began).not_valid_after(ends)


def _general(name: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _write(path: Path, certificate: Any) -> Path:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def _write_key(path: Path, key: Any) -> Path:
    form = serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    path.chmod(0o600)
    return path
